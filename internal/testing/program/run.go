package program

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/counters"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// address is where servers listen.
var address = netip.MustParseAddrPort("127.0.0.1:7")

// NewLoop makes a loop on a ring of the kernel, with few and small buffers as the seed says.
func NewLoop(k *simring.Kernel) *reactor.Loop { return newLoop(k, 1<<(3+k.Rand().IntN(9))) }

// NewBulkLoop makes a loop whose buffers are so small that most of what arrives is bulk.
func NewBulkLoop(k *simring.Kernel) *reactor.Loop {
	const size = 16
	return newLoopWith(k, reactor.BufferConfig{Size: size, Window: 8, Limit: 64, LargeSize: 4 * size, LargeLimit: 8})
}

// NewPinnedLoop makes a loop as [NewLoop] does that is bound to a CPU.
func NewPinnedLoop(k *simring.Kernel, cpu int) *reactor.Loop {
	return newLoop(k, 1<<(3+k.Rand().IntN(9)), cpu)
}

// newLoop makes a loop with few buffers of a size.
func newLoop(k *simring.Kernel, size int, cpus ...int) *reactor.Loop {
	limit := 1 << k.Rand().IntN(7)
	return newLoopWith(k, reactor.BufferConfig{
		Size: size, Window: 1 + k.Rand().IntN(limit), Limit: limit,
		LargeSize: 4 * size, LargeLimit: k.Rand().IntN(4) - 1,
	}, cpus...)
}

func newLoopWith(k *simring.Kernel, buffers reactor.BufferConfig, cpus ...int) *reactor.Loop {
	l, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{
		DrainTimeout: time.Hour,
		OnMisuse:     func(err error) { k.Errorf("%v", err) },
		Buffers:      buffers,
		CPUs:         cpus,
	})
	if err != nil {
		panic(err)
	}
	return l
}

// Ended asserts that a loop whose Run has returned err has nothing left.
func Ended(k *simring.Kernel, l *reactor.Loop, err error) {
	if err != nil {
		k.Errorf("Run: %v", err)
	}
	if wrong := counters.Check(l.Stats()); wrong != "" {
		k.Errorf("%s", wrong)
	}
}

// running are loops that run, each on its own thread.
type running struct {
	All  []*reactor.Loop
	up   int
	left int
}

// runLoops runs loops. setup is the first work of each.
func runLoops(k *simring.Kernel, loops []*reactor.Loop, setup func(l *reactor.Loop)) *running {
	s := &running{All: loops, left: len(loops)}
	for i, l := range loops {
		k.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			err := l.Run(func() {
				setup(l)
				s.up++
			})
			s.left--
			Ended(k, l, err)
		})
	}
	return s
}

// Up reports whether all loops are running, or one has already ended.
func (s *running) Up() bool { return s.up == len(s.All) || s.left < len(s.All) }

// Ended reports whether all loops have ended.
func (s *running) Ended() bool { return s.left == 0 }

// Stop stops all of them.
func (s *running) Stop() {
	for _, l := range s.All {
		l.Stop()
	}
}

// endSoon lets another thread stop the loops when no clients are left. Sometimes it is early: it calls stopSome first,
// and may not wait for the clients.
func (s *running) endSoon(k *simring.Kernel, clients *int, stopSome func()) (early bool) {
	early = k.Rand().IntN(3) == 0
	after := time.Duration(k.Rand().Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) {
		if t.Sleep(after); early {
			stopSome()
		}
		if !early || k.Rand().IntN(2) == 0 {
			t.Until(func() bool { return *clients == 0 })
		}
		s.Stop()
	})
	return early
}

// taskRun is a task on a loop. It can be stopped from any thread, and must complete once.
type taskRun struct {
	sender.EmptyEnv
	k      *simring.Kernel
	op     task.Op
	loop   *reactor.Loop
	source *stop.Source
	began  bool
	ended  int
	end    func(j *taskRun) // nil: nothing is to be done
}

// launch starts a task, on its loop's thread. If the task fails, so does the program. end is called when the task has
// completed.
func launch(k *simring.Kernel, l *reactor.Loop, f func(*task.T) error, end func(*taskRun)) *taskRun {
	j := &taskRun{k: k, loop: l, source: new(stop.Source), end: end}
	task.New(func(t *task.T) error {
		j.began = true
		return f(t)
	}).Connect(&j.op, j)
	j.op.Start()
	return j
}

// Env returns the loop and the stop token.
func (j *taskRun) Env() sender.Env             { return j }
func (j *taskRun) Scheduler() sender.Scheduler { return j.loop }
func (j *taskRun) StopToken() stop.Token       { return j.source.Token() }

func (j *taskRun) SetValue(struct{}) { j.complete() }
func (j *taskRun) SetStopped()       { j.complete() }

func (j *taskRun) SetError(err error) {
	j.k.Errorf("a task failed: %v", err)
	j.complete()
}

func (j *taskRun) complete() {
	if j.ended++; j.ended != 1 {
		j.k.Errorf("a task completed %d times", j.ended)
	}
	if j.end != nil {
		j.end(j)
	}
}

// closer is a descriptor.
type closer interface{ Close() reactor.CloseSender }

// closeAll closes descriptors of a task, also if the task has been stopped.
func closeAll(k *simring.Kernel, t *task.T, open ...closer) {
	task.Unstoppable(t, func() {
		for _, c := range open {
			if _, err := task.Await(t, c.Close()); err != nil {
				k.Errorf("close: %v", err)
			}
		}
	})
}

// closeDetached starts to close descriptors.
func closeDetached(k *simring.Kernel, open ...closer) {
	for _, c := range open {
		op := new(reactor.CloseOp)
		c.Close().Connect(op, &closed{k: k})
		op.Start()
	}
}

func stopped(err error) bool { return errors.Is(err, sender.ErrStopped) }
