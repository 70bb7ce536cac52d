package program

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// Drain runs tasks on several loops that await operations which complete on other threads and on other loops, and which
// may complete long after a stop request. Meanwhile loops are stopped with a short DrainTimeout, or their rings fail.
// The function of each task that has begun must end once, and the task complete once, on its loop's thread. Its
// receiver then overwrites its own memory. Operations that are still in flight later use the environment, and complete.
func Drain(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	p := &drain{k: k}
	for range 1 + rng.IntN(3) {
		p.loops = append(p.loops, newShortLivedLoop(k))
	}
	for i, l := range p.loops {
		k.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			l.thread = k.System().Thread()
			err := l.Run(func() {
				for range rng.IntN(8) {
					p.launch(l)
				}
			})
			p.ended++
			l.judge(k, err)
		})
	}
	for i := range 1 + rng.IntN(2) {
		k.Go(fmt.Sprintf("hand%d", i), p.complete)
	}
	k.Go("stopper", func(t *simring.Thread) {
		for _, l := range p.loops {
			t.Sleep(p.while())
			for _, j := range p.tasks {
				if rng.IntN(4) == 0 && j.completed == 0 {
					j.source.RequestStop()
				}
			}
			l.Stop()
		}
	})
	return func() {
		for i, j := range p.tasks {
			if j.completed != 1 || j.began != j.ended {
				k.Errorf("task %d completed %d times; its function began %d times and ended %d times",
					i, j.completed, j.began, j.ended)
			}
		}
	}
}

// shortLivedLoop is a loop that is stopped early or fails. A thread that enqueues work on it may be preempted before.
type shortLivedLoop struct {
	*reactor.Loop
	k      *simring.Kernel
	ring   *failingRing
	thread int
}

func newShortLivedLoop(k *simring.Kernel) *shortLivedLoop {
	r := &failingRing{Ring: k.NewRing(), left: -1}
	if k.Rand().IntN(3) == 0 {
		r.left = k.Rand().IntN(50)
	}
	timeout := 1 + time.Duration(k.Rand().Int64N(1<<(10+k.Rand().IntN(20))))
	l, err := reactor.NewLoopOn(r, k.System(), reactor.LoopConfig{DrainTimeout: timeout})
	if err != nil {
		panic(err)
	}
	return &shortLivedLoop{Loop: l, k: k, ring: r}
}

// Unwrap returns the scheduler that it wraps, the loop.
func (l *shortLivedLoop) Unwrap() sender.Scheduler { return l.Loop }

// Enqueue implements sender.Scheduler.
func (l *shortLivedLoop) Enqueue(w *sender.Work) {
	for range l.k.Rand().IntN(3) {
		l.k.System().Clock() // a system call
	}
	l.Loop.Enqueue(w)
}

// judge asserts that Run returns the ring's error if the ring has failed, and otherwise nothing but that it has
// abandoned tasks, or has given up because work was enqueued again and again.
func (l *shortLivedLoop) judge(k *simring.Kernel, err error) {
	gaveUp := errors.Is(err, task.ErrAbandoned) || errors.Is(err, os.ErrDeadlineExceeded)
	if failed := l.ring.failed; failed != errors.Is(err, errBroken) || err != nil && !failed && !gaveUp {
		k.Errorf("Run: %v; the ring has failed: %v", err, failed)
	}
}

// failingRing is a ring whose Enter fails after it was called left times; negative: it does not fail.
type failingRing struct {
	*simring.Ring
	left   int
	failed bool
}

var errBroken = errors.New("the ring is broken")

func (r *failingRing) Enter(timeout time.Duration) error {
	if r.left == 0 {
		r.failed = true
		return errBroken
	}
	r.left--
	return r.Ring.Enter(timeout)
}

// drain is the state that the parts of the program share.
type drain struct {
	k        *simring.Kernel
	loops    []*shortLivedLoop
	ended    int // loops
	tasks    []*drainedTask
	inFlight []*remoteOp // in flight
}

func (p *drain) while() time.Duration {
	return time.Duration(p.k.Rand().Int64N(1 << (10 + p.k.Rand().IntN(14))))
}

func (p *drain) any() *shortLivedLoop { return p.loops[p.k.Rand().IntN(len(p.loops))] }

// complete completes the remote operations, one after another, until the loops have ended and none is left.
func (p *drain) complete(t *simring.Thread) {
	for len(p.inFlight) != 0 || p.ended < len(p.loops) {
		if t.Sleep(p.while()); len(p.inFlight) == 0 {
			continue
		}
		i := p.k.Rand().IntN(len(p.inFlight))
		op := p.inFlight[i]
		p.inFlight = append(p.inFlight[:i], p.inFlight[i+1:]...)
		op.complete()
	}
}

// drainedTask is a task, its receiver, and the environment of the receiver.
type drainedTask struct {
	*drain
	op                      task.Op
	loop                    *shortLivedLoop
	source                  *stop.Source
	began, ended, completed int
}

func (p *drain) launch(l *shortLivedLoop) {
	j := &drainedTask{drain: p, loop: l, source: new(stop.Source)}
	p.tasks = append(p.tasks, j)
	task.New(j.run).Connect(&j.op, j)
	j.op.Start()
}

func (j *drainedTask) run(t *task.T) (err error) {
	j.began++
	defer func() { j.ended++ }()
	for range j.k.Rand().IntN(10) {
		if err = j.step(t); err != nil {
			if !left(err) {
				j.k.Errorf("a task failed: %v", err)
			}
			if j.k.Rand().IntN(4) != 0 { // it should
				return err
			}
		}
	}
	return nil
}

// step awaits one operation.
func (j *drainedTask) step(t *task.T) (err error) {
	other := j.any()
	switch j.k.Rand().IntN(6) {
	case 0:
		_, err = task.Await(t, remote{j.drain})
	case 1:
		task.Unstoppable(t, func() { _, err = task.Await(t, remote{j.drain}) })
	case 2:
		_, err = task.Await(t, sender.StartsOn(other, other.SleepFor(j.while())))
	case 3:
		_, err = task.On(t, other, func(t *task.T) (struct{}, error) { return task.Await(t, other.SleepFor(j.while())) })
	case 4:
		_, err = task.On(t, other, func(t *task.T) (struct{}, error) { return task.Await(t, remote{j.drain}) })
	default:
		_, err = task.Await(t, j.loop.SleepFor(j.while()))
	}
	return err
}

// Env returns the loop, the stop token, and a value.
func (j *drainedTask) Env() sender.Env             { return j }
func (j *drainedTask) Scheduler() sender.Scheduler { return j.loop }
func (j *drainedTask) StopToken() stop.Token       { return j.source.Token() }
func (j *drainedTask) Value(any) any               { return j.source.StopRequested() }

func (j *drainedTask) SetValue(struct{}) { j.complete() }

// SetError accepts only the errors of a task whose loop has ended.
func (j *drainedTask) SetError(err error) {
	if !left(err) {
		j.k.Errorf("a task failed: %v", err)
	}
	j.complete()
}

// left reports whether err says that a loop has ended.
func left(err error) bool { return stopped(err) || errors.Is(err, sender.ErrClosed) }

func (j *drainedTask) SetStopped() { j.complete() }

func (j *drainedTask) complete() {
	if j.completed++; j.completed != 1 {
		j.k.Errorf("a task completed %d times", j.completed)
	}
	if at := j.k.System().Thread(); at != j.loop.thread {
		j.k.Errorf("a task completed on thread %d, not on that of its loop", at)
	}
	if j.source.Registered() {
		j.k.Errorf("something is registered with the stop source of a task that has completed")
	}
	j.op, j.loop, j.source = task.Op{}, nil, nil
}

// remote is a sender that completes on another thread, some time after a stop request. It uses its environment until
// it completes.
type remote struct{ p *drain }

type remoteOp struct {
	p      *drain
	r      sender.Receiver[struct{}]
	onStop stop.Callback
	asked  bool
}

// Connect implements sender.Sender.
func (s remote) Connect(op *remoteOp, r sender.Receiver[struct{}]) sender.Operation {
	op.p, op.r, op.asked = s.p, r, false
	return op
}

// Start implements sender.Operation.
func (op *remoteOp) Start() {
	op.p.inFlight = append(op.p.inFlight, op)
	op.onStop.Register(op.r.Env().StopToken(), op)
}

// OnStop implements stop.Handler.
func (op *remoteOp) OnStop() { op.asked = true }

func (op *remoteOp) complete() {
	env := op.r.Env()
	op.p.k.System().Clock() // a system call
	if asked := env.StopToken().StopRequested(); asked != op.asked {
		op.p.k.Errorf("a stop request has come: %v, its handler was called: %v", asked, op.asked)
	}
	env.Value("key")
	if env.Scheduler() == nil {
		op.p.k.Errorf("an environment has no scheduler any more")
	}
	if op.onStop.Deregister(); op.asked && op.p.k.Rand().IntN(2) == 0 {
		op.r.SetStopped()
	} else {
		op.r.SetValue(struct{}{})
	}
}
