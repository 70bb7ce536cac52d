package task_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// reusingReceiver is a receiver that overwrites the task's operation state when it completes, and resets its stop
// source.
type reusingReceiver struct {
	sender.EmptyEnv
	t      testing.TB
	op     task.Op
	sch    sender.Scheduler
	source stop.Source
	done   chan string
}

// startReusing starts a task with a reusingReceiver.
func startReusing(t testing.TB, sch sender.Scheduler, f func(*task.T) error) *reusingReceiver {
	o := &reusingReceiver{t: t, sch: sch, done: make(chan string, 2)}
	task.New(f).Connect(&o.op, o)
	o.op.Start()
	return o
}

func (o *reusingReceiver) Env() sender.Env             { return o }
func (o *reusingReceiver) Scheduler() sender.Scheduler { return o.sch }
func (o *reusingReceiver) StopToken() stop.Token       { return o.source.Token() }
func (o *reusingReceiver) Value(any) any               { return 1 }
func (o *reusingReceiver) SetValue(unit)               { o.complete("value") }
func (o *reusingReceiver) SetError(err error)          { o.complete("error " + err.Error()) }
func (o *reusingReceiver) SetStopped()                 { o.complete("stopped") }

func (o *reusingReceiver) complete(how string) {
	if o.source.Registered() {
		o.t.Error("an operation is registered with the stop source of a receiver that has completed")
	}
	o.op, o.sch = task.Op{}, nil
	o.source.Reset()
	o.done <- how
}

func (o *reusingReceiver) expect(want string) {
	o.t.Helper()
	if got := <-o.done; got != want {
		o.t.Errorf("completed with %q, want %q", got, want)
	}
}

// abandonAll makes r abandon its tasks, and end.
func (r *coroutineLoop) abandonAll() {
	r.do(func() {
		r.pool.Drain(r.Finish)
		r.pool.Abandon()
		if n := r.pool.Tasks(); n != 0 {
			panic("tasks are left")
		}
	})
	<-r.ended
}

// await waits until n operations of l are in flight.
func (r *coroutineLoop) await(l interface{ InFlight() int }, n int) {
	for waiting := false; !waiting; r.do(func() { waiting = l.InFlight() == n }) {
	}
}

// What is still in flight elsewhere when a task is abandoned is not read: its completion may be writing it.
func TestAbandonedAwaitIsNotRead(t *testing.T) {
	th := sendertest.NewThread(t)
	ten := strings.Repeat("x", 10)
	for range 100 {
		r := newCoroutineLoop(t)
		l := &sendertest.Leaf[string]{Result: sendertest.Value(ten)}
		o := startReusing(t, r, func(tk *task.T) error {
			if v, err := task.Await(tk, l); err == nil && v != ten || err != nil && v != "" {
				t.Errorf("%q, %v", v, err)
			}
			return nil
		})
		r.await(l, 1)
		th.Do(func() { l.Finish() })
		r.abandonAll()
		o.expect("value")
		th.Wait()
	}
}

// envReader is a sender whose operation reads its environment when the test says so.
type envReader struct{ ask chan chan any }

type envReaderOp struct {
	envReader
	r      sender.Receiver[int]
	onStop stop.Callback
}

func (a envReader) Connect(op *envReaderOp, r sender.Receiver[int]) sender.Operation {
	op.envReader, op.r = a, r
	return op
}

func (op *envReaderOp) OnStop() {}

func (op *envReaderOp) Start() {
	ask, env := op.ask, op.r.Env()
	op.onStop.Register(env.StopToken(), op)
	go func() {
		for answer := range ask {
			answer <- env.Scheduler()
			answer <- env.Value("key")
		}
		op.onStop.Deregister()
		op.r.SetValue(1)
	}()
}

// The environment and the stop source of an operation that outlives its task outlive the task too.
func TestAbandonedAwaitHasAnEnvironment(t *testing.T) {
	r := newCoroutineLoop(t)
	a := envReader{make(chan chan any)}
	o := startReusing(t, r, func(tk *task.T) error {
		_, err := task.Await(tk, a)
		return err
	})
	expect := func(value any) {
		t.Helper()
		answer := make(chan any)
		a.ask <- answer
		if sch := <-answer; sch != r {
			t.Errorf("the scheduler is %v", sch)
		}
		if v := <-answer; v != value {
			t.Errorf("the value is %v, want %v", v, value)
		}
	}
	expect(1)
	r.abandonAll()
	o.expect("stopped")
	expect(nil)
	close(a.ask)
}

// slowLoop is a coroutineLoop where Enqueue of a resumption blocks until proceed is closed. If refuses is set, it
// refuses resumptions.
type slowLoop struct {
	*coroutineLoop
	refuses          bool
	begun            bool
	arrived, proceed chan unit
}

func (s *slowLoop) Unwrap() sender.Scheduler { return s.coroutineLoop }

func (s *slowLoop) Enqueue(w *sender.Work) {
	if !s.begun {
		s.begun = true
		s.coroutineLoop.Enqueue(w)
		return
	}
	if s.refuses {
		w.Runner.Abandon(sender.ErrStopped)
	}
	close(s.arrived)
	if <-s.proceed; !s.refuses {
		s.coroutineLoop.Enqueue(w)
	}
}

// A task whose operation has completed, and whose resumption is enqueued or was refused, is abandoned too: it has its
// result. The resumption then does nothing, whether the scheduler still runs it or has ended.
func TestAbandonWithResumptionEnqueued(t *testing.T) {
	for _, c := range []struct{ gone, refuses bool }{{false, false}, {true, false}, {true, true}} {
		s, th := &slowLoop{newCoroutineLoop(t), c.refuses, false, make(chan unit), make(chan unit)}, sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		got := 0
		o := startReusing(t, s, func(tk *task.T) (err error) {
			defer func() { got *= 2 }()
			got, err = task.Await(tk, l)
			_, _ = task.Await(tk, sender.Just(1))
			return errors.New("still there")
		})
		s.await(l, 1)
		th.Do(func() { l.Finish() })
		<-s.arrived
		if c.gone {
			s.abandonAll()
		} else {
			s.do(func() { s.pool.Drain(nil); s.pool.Abandon() })
		}
		o.expect("stopped")
		if got != 2 {
			t.Errorf("it got %d", got)
		}
		close(s.proceed)
		th.Wait()
	}
}

// confined is a Leaf that is finished by the scheduler's thread alone.
type confined struct{ *sendertest.Leaf[int] }

func (confined) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// A task that is ready when the pool abandons its tasks completes, and so does one that becomes ready meanwhile.
func TestReadyTasksAreAbandoned(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		r := newCoroutineLoop(t)
		var leaves [2]confined
		for i := range leaves {
			leaves[i] = confined{&sendertest.Leaf[int]{Result: sendertest.Value(1 + i)}}
		}
		var got [2]int
		var tasks [2]*reusingReceiver
		for _, i := range order {
			tasks[i] = startReusing(t, r, func(tk *task.T) (err error) {
				got[i], err = task.Await(tk, leaves[i])
				leaves[1].Finish()
				return err
			})
			r.await(leaves[i], 1)
		}
		r.do(func() {
			r.pool.Drain(r.Finish)
			leaves[0].Finish()
			r.pool.Abandon()
			if n := r.pool.Tasks(); n != 0 {
				t.Errorf("%d tasks are left", n)
			}
		})
		tasks[0].expect("value")
		how := <-tasks[1].done
		abandonedFirst := how == "stopped" && got[1] == 0
		if !abandonedFirst && (how != "value" || got[1] != 2) || got[0] != 1 {
			t.Errorf("the tasks got %d, the second completed with %q", got, how)
		}
		<-r.ended
	}
}
