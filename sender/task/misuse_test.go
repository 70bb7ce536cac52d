package task_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// panicOf returns what f panics with.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func expectPanic(t testing.TB, f func(), want string) {
	t.Helper()
	if got := panicOf(f); !strings.Contains(got, want) {
		t.Errorf("panicked with %q, want %q", got, want)
	}
}

func TestAwaitAfterTheEnd(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		var kept *task.T
		run(t, sch, task.New(func(t *task.T) error { kept = t; return nil }))
		expectPanic(t, func() { _, _ = task.Await(kept, sender.Just(1)) }, "while the task does not run")
		expectPanic(t, func() { task.Unstoppable(kept, func() {}) }, "while the task does not run")
	})
}

// An operation that fails without an error does not look like one that succeeded.
func TestAwaitNilError(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		nothing := &sendertest.Leaf[int]{OnStart: sendertest.Inline, Result: sendertest.Error[int](nil)}
		x := run(t, sch, task.NewValue(func(t *task.T) (int, error) { return task.Await(t, nothing) }))
		if x.Err == nil || !strings.Contains(x.Err.Error(), "SetError(nil)") {
			t.Errorf("completed with %v", x)
		}
	})
}

// The function of Then is called inside of Await.
func TestNestedAwait(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		x := run(t, sch, task.NewValue(func(t *task.T) (int, error) {
			_, err := task.Await(t, sender.Then(sender.Just(1), func(int) int {
				n, _ := task.Await(t, sender.Just(2))
				return n
			}))
			if err == nil || !strings.Contains(err.Error(), "Await inside of an Await") {
				return 0, fmt.Errorf("inside Start: %v", err)
			}
			return 1, nil
		}))
		if x.Value != 1 {
			t.Errorf("completed with %v", x)
		}
	})
}

// A panic in Connect goes to the function, which may recover and continue.
func TestPanicInConnect(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		x := run(t, sch, task.NewValue(func(t *task.T) (int, error) {
			if text := panicOf(func() { _, _ = task.Await(t, bad{}) }); text != "bad" {
				return 0, fmt.Errorf("panicked with %q", text)
			}
			return task.Await(t, sender.Just(5))
		}))
		if x.Value != 5 {
			t.Errorf("completed with %v", x)
		}
	})
}

type bad struct{}

type badOp struct{}

func (bad) Connect(*badOp, sender.Receiver[int]) sender.Operation { panic("bad") }

// A goroutine that is not the task's gets a panic that says so, wherever the task runs. It neither hangs nor ends the
// program.
func TestAwaitOnAnotherGoroutine(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		never := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		x := run(t, sch, task.NewValue(func(tk *task.T) (int, error) {
			text := make(chan string)
			go func() { text <- panicOf(func() { _, _ = task.Await(tk, never) }) }()
			if got := <-text; !strings.Contains(got, "goroutine that is not the task's") {
				t.Errorf("panicked with %q", got)
			}
			return 1, nil
		}))
		if x.Value != 1 || never.InFlight() != 0 {
			t.Errorf("completed with %v; %d operations in flight", x, never.InFlight())
		}
	})
}

// The same when the function may have returned meanwhile.
func TestAwaitOnAnotherGoroutineInTheEnd(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("it is a race")
	}
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		for range 100 {
			text := make(chan string, 1)
			run(t, sch, task.New(func(tk *task.T) error {
				begun := make(chan unit)
				go func() {
					close(begun)
					text <- panicOf(func() { _, _ = task.Await(tk, sender.JustStopped[int]()) })
				}()
				<-begun
				return nil
			}))
			got := <-text
			if !strings.Contains(got, "Await on") && !strings.Contains(got, "Await while the task does not run") {
				t.Fatalf("panicked with %q", got)
			}
		}
	})
}

// While the task is suspended, other goroutines may not await with its T.
func TestAwaitWhileSuspended(t *testing.T) {
	if sendertest.RaceDetector {
		t.Skip("it is a race")
	}
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		never := &sendertest.Leaf[int]{Result: sendertest.Value(1)}
		got := make(chan *task.T)
		o := begin(t, sch, task.NewValue(func(t *task.T) (int, error) {
			go func() { got <- t }()
			return task.Await(t, never)
		}), nil)
		kept := <-got
		for never.InFlight() == 0 {
		}
		expectPanic(t, func() { _, _ = task.Await(kept, sender.Just(1)) }, "Await")
		never.Finish()
		if x := o.result(); x.Value != 1 {
			t.Errorf("completed with %v", x)
		}
	})
}

// Iterators of the function's own may await, the pulled ones too: they run on its goroutine or thread.
func TestAwaitInIterators(t *testing.T) {
	eachScheduler(t, func(t *testing.T, sch sender.Scheduler) {
		x := run(t, sch, task.NewValue(func(t *task.T) (sum int, err error) {
			items := func(yield func(int) bool) {
				for i := range 10 {
					if err = task.Yield(t); err != nil || !yield(i) {
						return
					}
				}
			}
			for i := range items {
				sum += i
			}
			if _, hosted := sch.(task.CoroutineScheduler); !hosted {
				return 2 * sum, err
			}
			next, stop := iter.Pull(items)
			defer stop()
			for i, ok := next(); ok; i, ok = next() {
				sum += i
			}
			return sum, err
		}))
		if x.Value != 90 {
			t.Errorf("completed with %v, want 90", x)
		}
	})
}

func TestNilFunction(t *testing.T) {
	expectPanic(t, func() { task.New(nil) }, "a task of a nil function")
	expectPanic(t, func() { task.NewValue[int](nil) }, "a task of a nil function")
}
