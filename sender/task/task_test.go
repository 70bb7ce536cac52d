package task_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

func TestResults(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		for _, c := range []struct {
			name string
			f    func(*task.T) (int, error)
			want string
		}{
			{"value", func(*task.T) (int, error) { return 7, nil }, "value 7"},
			{"error", func(*task.T) (int, error) { return 7, io.EOF }, "error EOF"},
			{"stopped", func(*task.T) (int, error) { return 7, sender.ErrStopped }, "stopped"},
			{"stopped, wrapped", func(*task.T) (int, error) { return 7, fmt.Errorf("read: %w", sender.ErrStopped) }, "stopped"},
			{"panic", func(*task.T) (int, error) { panic(io.EOF) }, "error sender: panic: EOF"},
			{"panic of a stop", func(t *task.T) (int, error) {
				_, err := task.Await(t, sender.JustStopped[int]())
				panic(err)
			}, "error sender: panic: sender: stopped"},
			{"goexit", func(*task.T) (int, error) { runtime.Goexit(); return 7, nil }, "error " + sender.ErrGoexit.Error()},
			{"recovered", func(*task.T) (n int, _ error) {
				defer func() { n = recover().(int) }()
				panic(8)
			}, "value 8"},
			{"awaited value", func(t *task.T) (int, error) { return task.Await(t, sender.Just(9)) }, "value 9"},
			{"awaited error", func(t *task.T) (int, error) { return task.Await(t, sender.JustError[int](io.EOF)) }, "error EOF"},
			{"awaited stopped", func(t *task.T) (int, error) { return task.Await(t, sender.JustStopped[int]()) }, "stopped"},
			{"panic after an await", func(t *task.T) (int, error) { _ = task.Yield(t); panic("late") },
				"error sender: panic: late"},
			{"goexit after an await", func(t *task.T) (int, error) { _ = task.Yield(t); runtime.Goexit(); return 0, nil },
				"error " + sender.ErrGoexit.Error()},
		} {
			for range 3 { // on a coroutine that was used before
				if got := run(t, sch, task.NewValue(c.f)).String(); got != c.want {
					t.Errorf("%s: completed with %s, want %s", c.name, got, c.want)
				}
			}
		}
		if got := run(t, sch, task.New(func(*task.T) error { return nil })).String(); got != "value {}" {
			t.Errorf("a task without a value completed with %s", got)
		}
	})
}

func TestPanicHasItsStack(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		x := run(t, sch, task.New(func(t *task.T) error { return burst() }))
		var pe *sender.PanicError
		if !errors.As(x.Err, &pe) || !strings.Contains(string(pe.Stack), "burst") {
			t.Errorf("completed with %v, without the stack of the panic", x)
		}
	})
}

//go:noinline
func burst() error { panic("burst") }

func TestContract(t *testing.T) {
	for _, hosted := range []bool{true, false} {
		th := sendertest.NewThread(t)
		for _, onStart := range []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later} {
			for _, onStop := range []sendertest.Action{sendertest.Nothing, sendertest.Inline, sendertest.Later} {
				if onStart == sendertest.Nothing && onStop == sendertest.Nothing {
					continue
				}
				var sch sender.Scheduler
				o := sendertest.Options[int]{Endless: onStart == sendertest.Nothing, Restartable: true, Rounds: 10}
				if hosted {
					r := newCoroutineLoop(t)
					sch, o.Do = r, r.post
					tid := make(chan int, 1)
					r.do(func() { tid <- goroutine.Thread() })
					thread := <-tid
					o.Where = func() bool { return goroutine.Thread() == thread }
				}
				o.Scheduler = sch
				l := &sendertest.Leaf[int]{OnStart: onStart, OnStop: onStop, Thread: th, Result: sendertest.Value(7)}
				o.Accept = func(p sendertest.Point, x sendertest.Result[int]) bool {
					switch x.Channel {
					case sendertest.OnValue:
						return x.Value == 21 && p != sendertest.BeforeConnect && p != sendertest.BeforeStart
					case sendertest.OnStopped:
						return p != sendertest.Never && p != sendertest.InCompletion
					}
					return false
				}
				sendertest.Check(t, task.NewValue(func(t *task.T) (sum int, err error) {
					for range 3 {
						n, err := task.Await(t, l)
						if err != nil {
							return 0, err
						}
						sum += n
					}
					return sum, nil
				}), o)
				if n := l.InFlight(); n != 0 {
					t.Errorf("%d operations in flight at the end", n)
				}
			}
		}
	}
}

// Wherever an operation completes, the function continues on its own scheduler.
func TestAffinity(t *testing.T) {
	r, th := newCoroutineLoop(t), sendertest.NewThread(t)
	l := &sendertest.Leaf[int]{OnStart: sendertest.Later, Thread: th, Result: sendertest.Value(1)}
	x := run(t, r, task.NewValue(func(t *task.T) (moves int, err error) {
		thread := goroutine.Thread()
		for range 1000 {
			if _, err := task.Await(t, l); err != nil {
				return 0, err
			}
			if goroutine.Thread() != thread {
				moves++
			}
		}
		return moves, nil
	}))
	if x.Value != 0 || x.Channel != sendertest.OnValue {
		t.Errorf("the task was off its thread: %v", x)
	}
}

// On an ordinary scheduler the function runs only while the scheduler waits for it.
func TestOrdinarySchedulerWaits(t *testing.T) {
	l := newRunLoop(t, false)
	n := 0 // not atomic: the race detector watches
	s := task.New(func(t *task.T) error {
		for range 200 {
			n++
			if err := task.Yield(t); err != nil {
				return err
			}
		}
		return nil
	})
	a, b := begin(t, l, s, nil), begin(t, l, s, nil)
	if a.result(); b.result().Channel != sendertest.OnValue || n != 400 {
		t.Errorf("two tasks counted to %d, want 400", n)
	}
}

func TestStopIsForwarded(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		for _, onStop := range []sendertest.Action{sendertest.Inline, sendertest.Later} {
			var source stop.Source
			var order []string
			l := &sendertest.Leaf[int]{OnStop: onStop, Thread: sendertest.NewThread(t)}
			waiting := make(chan unit)
			o := begin(t, sch, task.New(func(t *task.T) error {
				defer func() { order = append(order, "deferred") }()
				close(waiting)
				_, err := task.Await(t, l)
				order = append(order, fmt.Sprint(err == sender.ErrStopped, t.StopToken().StopRequested()))
				return err
			}), &source)
			<-waiting
			source.RequestStop()
			if x := o.result(); x.Channel != sendertest.OnStopped {
				t.Errorf("completed with %v", x)
			}
			if got := strings.Join(order, ", "); got != "true true, deferred" {
				t.Errorf("in order: %s", got)
			}
		}
	})
}

func TestStoppedBeforeItsTurn(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		var source stop.Source
		source.RequestStop()
		x := begin(t, sch, task.New(func(*task.T) error { panic("called") }), &source).result()
		if x.Channel != sendertest.OnStopped {
			t.Errorf("completed with %v", x)
		}
	})
}

func TestUnstoppable(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		var source stop.Source
		th := sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{OnStart: sendertest.Later, OnStop: sendertest.Inline, Thread: th,
			Result: sendertest.Value(1)}
		x := begin(t, sch, task.NewValue(func(t *task.T) (n int, err error) {
			source.RequestStop()
			if _, err := task.Await(t, l); err != sender.ErrStopped {
				return 0, fmt.Errorf("before: %w", err)
			}
			task.Unstoppable(t, func() { n, err = task.Await(t, l) })
			if err != nil {
				return 0, fmt.Errorf("inside: %v", err)
			}
			if _, err := task.Await(t, l); err != sender.ErrStopped {
				return 0, fmt.Errorf("behind: %w", err)
			}
			return n, nil
		}), &source).result()
		if x.Channel != sendertest.OnValue || x.Value != 1 {
			t.Errorf("completed with %v", x)
		}
	})
}

type key struct{}

func TestEnvironment(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		o := &outcome[int]{done: make(chan sendertest.Result[int], 1)}
		o.T, o.Sch, o.Key = t, sch, key{}
		o.Then = func(x sendertest.Result[int]) { o.done <- x }
		var op task.ValueOp[int]
		task.NewValue(func(tk *task.T) (int, error) {
			if tk.Env().Value(key{}) != (key{}) || tk.Env().Value(0) != nil {
				t.Errorf("open queries are not forwarded")
			}
			if sch != nil && (tk.Scheduler() != sch || tk.Env().Scheduler() != sch) {
				t.Errorf("the scheduler is %v, want %v", tk.Scheduler(), sch)
			}
			return task.On(tk, newRunLoop(t, false), func(child *task.T) (int, error) {
				if child.Env().Value(key{}) != (key{}) {
					t.Errorf("open queries are not forwarded by On")
				}
				return 3, nil
			})
		}).Connect(&op, o)
		o.Starting()
		op.Start()
		if x := o.result(); x.Value != 3 {
			t.Errorf("completed with %v", x)
		}
	})
}

func TestOn(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		elsewhere := newCoroutineLoop(t)
		var there int
		elsewhere.do(func() { there = goroutine.Thread() })
		x := run(t, sch, task.NewValue(func(t *task.T) (int, error) {
			here := goroutine.Thread()
			tid, err := task.On(t, elsewhere, func(t *task.T) (int, error) {
				if err := task.Yield(t); err != nil {
					return 0, err
				}
				return goroutine.Thread(), nil
			})
			if _, hosted := sch.(task.CoroutineScheduler); hosted && goroutine.Thread() != here {
				return 0, errors.New("the task did not come back")
			}
			return tid, err
		}))
		if x.Value != there {
			t.Errorf("the child ran on thread %v, want %d", x, there)
		}
	})
}

// A wrapped scheduler is that scheduler.
func TestWrappedCoroutineScheduler(t *testing.T) {
	r := newCoroutineLoop(t)
	var thread int
	r.do(func() { thread = goroutine.Thread() })
	x := run(t, sched.AnyOf(r), task.NewValue(func(*task.T) (int, error) { return goroutine.Thread(), nil }))
	if x.Value != thread {
		t.Errorf("ran on thread %v, want %d", x, thread)
	}
}

func TestSpawnIntoAScope(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		var scope sender.CountingScope
		never := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
		var ended atomic.Int32
		for range 10 {
			sender.Spawn(&scope, sender.WriteEnv(task.New(func(t *task.T) error {
				defer ended.Add(1)
				_, err := task.Await(t, never)
				return err
			}), on{sch: sch}))
		}
		for never.InFlight() < 10 {
			runtime.Gosched()
		}
		scope.RequestStop()
		if _, err := sender.SyncWait(t.Context(), scope.Join()); err != nil || ended.Load() != 10 {
			t.Errorf("joined after %d tasks had ended: %v", ended.Load(), err)
		}
	})
}

// on is an environment with a scheduler.
type on struct {
	sender.EmptyEnv
	sch sender.Scheduler
}

func (e on) Scheduler() sender.Scheduler { return e.sch }

func TestOnIsStopped(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		elsewhere := newRunLoop(t, false)
		never := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
		var source stop.Source
		waiting := make(chan unit)
		o := begin(t, sch, task.NewValue(func(t *task.T) (int, error) {
			return task.On(t, elsewhere, func(t *task.T) (int, error) {
				close(waiting)
				return task.Await(t, never)
			})
		}), &source)
		<-waiting
		source.RequestStop()
		if x := o.result(); x.Channel != sendertest.OnStopped {
			t.Errorf("completed with %v", x)
		}
		if source.Registered() {
			t.Errorf("a stop callback was left behind")
		}
	})
}

func TestTaskAwaitsTask(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		var fib func(n int) task.ValueSender[int]
		fib = func(n int) task.ValueSender[int] {
			return task.NewValue(func(t *task.T) (int, error) {
				if n < 2 {
					return n, nil
				}
				a, err := task.Await(t, fib(n-1))
				if err != nil {
					return 0, err
				}
				b, err := task.Await(t, fib(n-2))
				return a + b, err
			})
		}
		if x := run(t, sch, fib(10)); x.Value != 55 {
			t.Errorf("completed with %v, want 55", x)
		}
	})
}

// Awaiting what completes inside Start neither switches nor deepens the stack.
func TestMillionInlineAwaits(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		million := 1_000_000
		if testing.Short() {
			million /= 10
		}
		depth := func() int { return runtime.Callers(0, make([]uintptr, 1000)) }
		x := run(t, sch, task.NewValue(func(t *task.T) (n int, err error) {
			before := depth()
			for range million {
				i, err := task.Await(t, sender.Just(1))
				if err != nil {
					return n, err
				}
				n += i
			}
			if after := depth(); after != before {
				return n, fmt.Errorf("%d frames deep, and %d before", after, before)
			}
			return n, nil
		}))
		if x.Channel != sendertest.OnValue || x.Value != million {
			t.Errorf("completed with %v", x)
		}
	})
}

// A completion that comes on another thread while the task is being suspended is not lost.
func TestSuspensionRace(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		th := sendertest.NewThread(t)
		l := &sendertest.Leaf[int]{OnStart: sendertest.Later, Thread: th, Result: sendertest.Value(1)}
		x := run(t, sch, task.NewValue(func(t *task.T) (n int, err error) {
			for range 5000 {
				i, err := task.Await(t, l)
				if err != nil {
					return n, err
				}
				n += i
			}
			return n, nil
		}))
		if x.Value != 5000 {
			t.Errorf("completed with %v", x)
		}
	})
}

// What has declared to complete on the scheduler's thread resumes the task without Enqueue.
func TestAffineSender(t *testing.T) {
	r := newCoroutineLoop(t)
	never := &sendertest.Leaf[int]{OnStop: sendertest.Inline}
	var source stop.Source
	step := make(chan int, 1)
	o := begin(t, r, task.NewValue(func(t *task.T) (n int, err error) {
		thread := goroutine.Thread()
		for n = range 1000 {
			if _, err := task.Await(t, affine[unit, sender.ScheduleOp, sender.ScheduleSender]{sender.Schedule(r)}); err != nil {
				return n, err
			}
			if goroutine.Thread() != thread {
				return n, errors.New("it did not come back")
			}
		}
		step <- n
		return task.Await(t, affine[int, sendertest.LeafOp[int], *sendertest.Leaf[int]]{never})
	}), &source)
	if n := <-step; n != 999 {
		t.Errorf("%d rounds", n)
	}
	r.do(func() { source.RequestStop() }) // it completes inside of the handler
	if x := o.result(); x.Channel != sendertest.OnStopped {
		t.Errorf("completed with %v", x)
	}
}

// affine is a sender that completes where it was started.
type affine[V, O any, S sender.Sender[V, O]] struct{ s S }

func (a affine[V, O, S]) Connect(op *O, r sender.Receiver[V]) sender.Operation {
	return a.s.Connect(op, r)
}

func (*affine[V, O, S]) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// Operation states are used again, one of a type.
func TestAwaitingInALoopAllocatesNothing(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	r := newCoroutineLoop(t)
	x := run(t, r, task.NewValue(func(t *task.T) (int, error) {
		return int(testing.AllocsPerRun(100, func() {
			_, _ = task.Await(t, sender.Just(1))
			_, _ = task.Await(t, sender.Just("two"))
			_ = task.Yield(t)
			_, _ = task.Await(t, sender.JustStopped[int]())
		})), nil
	}))
	if x.Value != 0 || x.Channel != sendertest.OnValue {
		t.Errorf("allocations: %v, want 0", x)
	}
}

func TestStartingAgainAllocatesNothing(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("the race detector allocates")
	}
	r := newCoroutineLoop(t)
	f := func(t *task.T) error { return task.Yield(t) }
	done := make(chan unit)
	var op task.Op
	task.New(f).Connect(&op, &again{sch: r, done: done})
	if n := testing.AllocsPerRun(100, func() { op.Start(); <-done }); n != 0 {
		t.Errorf("%v allocations for a task, want 0", n)
	}
}

// again is a receiver that allocates nothing.
type again struct {
	sender.EmptyEnv
	sch  sender.Scheduler
	done chan unit
}

func (a *again) SetValue(unit)               { a.done <- unit{} }
func (a *again) SetError(error)              { a.done <- unit{} }
func (a *again) SetStopped()                 { a.done <- unit{} }
func (a *again) Env() sender.Env             { return a }
func (a *again) Scheduler() sender.Scheduler { return a.sch }
