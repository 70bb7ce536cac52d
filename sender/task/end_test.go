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

// owner is a receiver that overwrites the task's operation state when it completes, and resets its stop source.
type owner struct {
	sender.EmptyEnv
	t      testing.TB
	op     task.Op
	sch    sender.Scheduler
	source stop.Source
	done   chan string
}

// own starts a task with an owner.
func own(t testing.TB, sch sender.Scheduler, f func(*task.T) error) *owner {
	o := &owner{t: t, sch: sch, done: make(chan string, 2)}
	task.New(f).Connect(&o.op, o)
	o.op.Start()
	return o
}

func (o *owner) Env() sender.Env             { return o }
func (o *owner) Scheduler() sender.Scheduler { return o.sch }
func (o *owner) StopToken() stop.Token       { return o.source.Token() }
func (o *owner) Value(any) any               { return 1 }
func (o *owner) SetValue(unit)               { o.complete("value") }
func (o *owner) SetError(err error)          { o.complete("error " + err.Error()) }
func (o *owner) SetStopped()                 { o.complete("stopped") }

func (o *owner) complete(how string) {
	if o.source.Registered() {
		o.t.Error("an operation is registered with the stop source of a receiver that has completed")
	}
	o.op, o.sch = task.Op{}, nil
	o.source.Reset()
	o.done <- how
}

func (o *owner) expect(want string) {
	o.t.Helper()
	if got := <-o.done; got != want {
		o.t.Errorf("completed with %q, want %q", got, want)
	}
}

// cut has r give up its tasks.
func (r *residence) cut() {
	r.do(func() {
		r.home.Drain(r.Finish)
		r.home.Abandon()
		if n := r.home.Tasks(); n != 0 {
			panic("tasks are left")
		}
	})
	<-r.ended
}

// await waits until n operations of l are in flight.
func (r *residence) await(l interface{ InFlight() int }, n int) {
	for waiting := false; !waiting; r.do(func() { waiting = l.InFlight() == n }) {
	}
}

// What is still in flight elsewhere when a task is cut short is not read: it may be completing.
func TestCutAwaitIsNotRead(t *testing.T) {
	th := sendertest.NewThread(t)
	ten := strings.Repeat("x", 10)
	for range 100 {
		r := newResidence(t)
		l := &sendertest.Leaf[string]{Result: sendertest.Value(ten)}
		o := own(t, r, func(tk *task.T) error {
			if v, err := task.Await(tk, l); err == nil && v != ten || err != nil && v != "" {
				t.Errorf("%q, %v", v, err)
			}
			return nil
		})
		r.await(l, 1)
		th.Do(func() { l.Finish() })
		r.cut()
		o.expect("value")
		th.Wait()
	}
}

// asker is an operation that asks for its environment when it is told to, as it may until it completes.
type asker struct{ ask chan chan any }

type askerOp struct {
	asker
	r      sender.Receiver[int]
	onStop stop.Callback
}

func (a asker) Connect(op *askerOp, r sender.Receiver[int]) sender.Operation {
	op.asker, op.r = a, r
	return op
}

func (op *askerOp) OnStop() {}

func (op *askerOp) Start() {
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

// An operation that outlives its task has an environment and a stop source that outlive it as well.
func TestCutAwaitHasAnEnvironment(t *testing.T) {
	r := newResidence(t)
	a := asker{make(chan chan any)}
	o := own(t, r, func(tk *task.T) error {
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
	r.cut()
	o.expect("stopped")
	expect(nil)
	close(a.ask)
}

// late is a residence to which turns take their time: whoever enqueues one is preempted until proceed is closed. Or it
// refuses them.
type late struct {
	*residence
	refuses          bool
	begun            bool
	arrived, proceed chan unit
}

func (s *late) Unwrap() sender.Scheduler { return s.residence }

func (s *late) Enqueue(w *sender.Work) {
	if !s.begun {
		s.begun = true
		s.residence.Enqueue(w)
		return
	}
	if s.refuses {
		w.Runner.Abandon(sender.ErrStopped)
	}
	close(s.arrived)
	if <-s.proceed; !s.refuses {
		s.residence.Enqueue(w)
	}
}

// A task whose operation is complete, and whose turn is under way or was refused, is cut short as well: it has its
// result. The turn comes to nothing, whether the scheduler still runs it or is gone.
func TestTurnUnderWay(t *testing.T) {
	for _, c := range []struct{ gone, refuses bool }{{false, false}, {true, false}, {true, true}} {
		s, th := &late{newResidence(t), c.refuses, false, make(chan unit), make(chan unit)}, sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		got := 0
		o := own(t, s, func(tk *task.T) (err error) {
			defer func() { got *= 2 }()
			got, err = task.Await(tk, l)
			_, _ = task.Await(tk, sender.Just(1))
			return errors.New("still there")
		})
		s.await(l, 1)
		th.Do(func() { l.Finish() })
		<-s.arrived
		if c.gone {
			s.cut()
		} else {
			s.do(func() { s.home.Drain(nil); s.home.Abandon() })
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

// A task that is ready when the scheduler gives up is not lost, nor one that another makes ready by its end.
func TestReadyTasksAreCut(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		r := newResidence(t)
		var leaves [2]confined
		for i := range leaves {
			leaves[i] = confined{&sendertest.Leaf[int]{Result: sendertest.Value(1 + i)}}
		}
		var got [2]int
		var tasks [2]*owner
		for _, i := range order {
			tasks[i] = own(t, r, func(tk *task.T) (err error) {
				got[i], err = task.Await(tk, leaves[i])
				leaves[1].Finish()
				return err
			})
			r.await(leaves[i], 1)
		}
		r.do(func() {
			r.home.Drain(r.Finish)
			leaves[0].Finish()
			r.home.Abandon()
			if n := r.home.Tasks(); n != 0 {
				t.Errorf("%d tasks are left", n)
			}
		})
		tasks[0].expect("value")
		how := <-tasks[1].done
		if cutFirst := how == "stopped" && got[1] == 0; !cutFirst && (how != "value" || got[1] != 2) || got[0] != 1 {
			t.Errorf("the tasks got %d, the second completed with %q", got, how)
		}
		<-r.ended
	}
}
