package task_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// nextLine returns how the text of a Waiting says that a task waits in the line after this call.
func nextLine(what string) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s at %s:%d (", what, file, line+1)
}

func newLeaf() *sendertest.Leaf[int] { return &sendertest.Leaf[int]{Result: sendertest.Value(1)} }

// A pool tells of each task where it waits and for what, also of one that waits for another task. To be looked at
// changes nothing for them.
func TestWaiting(t *testing.T) {
	r := newCoroutineLoop(t)
	leaf, elsewhere := newLeaf(), newLeaf()
	var queue task.Queue[int]
	var want []string
	var all []*outcome[unit]
	for _, f := range []func(tk *task.T) error{
		func(tk *task.T) error {
			want = append(want, nextLine("Leaf"))
			_, err := task.Await(tk, leaf)
			return err
		},
		func(tk *task.T) error {
			want = append(want, nextLine("Pop"))
			_, err := task.Await(tk, queue.Pop())
			return err
		},
		func(tk *task.T) error {
			want = append(want, nextLine("Then"))
			_, err := task.Await(tk, sender.Then(elsewhere, func(n int) int { return n }))
			return err
		},
	} {
		all = append(all, begin[unit, task.Op](t, r, task.New(f), nil))
	}
	r.await(leaf, 1)
	r.await(elsewhere, 1)
	for range 3 {
		var got []string
		r.do(func() {
			r.pool.Waiting(func(w task.Waiting) bool { got = append(got, w.String()); return true })
		})
		if len(got) != len(want) {
			t.Fatalf("%d tasks wait, want %d: %q", len(got), len(want), got)
		}
		for i, w := range got {
			if !strings.HasPrefix(w, want[i]) {
				t.Errorf("%q, want %q…", w, want[i])
			}
		}
	}
	r.do(func() { leaf.Finish(); elsewhere.Finish(); queue.Push(1) })
	for _, o := range all {
		if x := o.result(); x.Err != nil {
			t.Error(x)
		}
	}
}

// A task may ask, and is not told of itself.
func TestWaitingAskedByATask(t *testing.T) {
	r := newCoroutineLoop(t)
	leaf := newLeaf()
	waits := begin[unit, task.Op](t, r, task.New(func(tk *task.T) error {
		_, err := task.Await(tk, leaf)
		return err
	}), nil)
	r.await(leaf, 1)
	n := 0
	run(t, r, task.New(func(tk *task.T) error {
		r.pool.Waiting(func(w task.Waiting) bool { n++; return w.For == "Leaf" })
		return task.Yield(tk)
	}))
	if n != 1 {
		t.Errorf("told of %d tasks, want 1", n)
	}
	r.do(func() { leaf.Finish() })
	waits.result()
}

// One task that ignores its stop request is abandoned, and the pool serves on: nothing that the task left behind
// reaches the next one.
func TestAbandonOne(t *testing.T) {
	r := newCoroutineLoop(t)
	for range 100 {
		leaf := newLeaf()
		deferred := false
		o := startReusing(t, r, func(tk *task.T) error {
			defer func() { deferred = true }()
			for {
				_, _ = task.Await(tk, leaf)
			}
		})
		r.await(leaf, 1)
		r.do(func() {
			if w, ok := o.op.Waiting(); !ok || w.For != "Leaf" {
				t.Errorf("waits for %v, %v", w, ok)
			}
			if !o.op.Abandon() || !deferred {
				t.Error("it was not abandoned")
			}
			if o.op.Abandon() {
				t.Error("it was abandoned twice")
			}
		})
		o.expect("stopped")
		next := begin[unit, task.Op](t, r, task.New(func(tk *task.T) error { return task.Yield(tk) }), nil)
		r.do(func() { leaf.Finish() })
		if x := next.result(); x.Err != nil {
			t.Error(x)
		}
	}
}

// A task that is ready to be resumed is abandoned, too.
func TestAbandonOneThatIsReady(t *testing.T) {
	r := newCoroutineLoop(t)
	leaf := newLeaf()
	o := startReusing(t, r, func(tk *task.T) error {
		for {
			_, _ = task.Await(tk, leaf)
		}
	})
	r.await(leaf, 1)
	r.do(func() {
		leaf.Finish()
		o.op.Abandon()
	})
	o.expect("stopped")
	if x := run(t, r, task.New(func(tk *task.T) error { return task.Yield(tk) })); x.Err != nil {
		t.Error(x)
	}
}

// A task whose deferred function awaits forever completes all the same, and is counted.
func TestStranded(t *testing.T) {
	r := newCoroutineLoop(t)
	leaf := newLeaf()
	o := startReusing(t, r, func(tk *task.T) error {
		defer func() {
			for {
				if _, err := task.Await(tk, leaf); err == nil {
					return
				}
			}
		}()
		for {
			_, _ = task.Await(tk, leaf)
		}
	})
	r.await(leaf, 1)
	r.do(func() { o.op.Abandon() })
	o.expect("stopped")
	r.do(func() {
		if n := r.pool.Stranded(); n != 1 {
			t.Errorf("%d are stranded", n)
		}
		leaf.Finish()
	})
}

// The error of a pool's end names each place once.
func TestAbandonedError(t *testing.T) {
	r := newCoroutineLoop(t)
	leaf := newLeaf()
	var want string
	var all []*reusingReceiver
	for range 3 {
		all = append(all, startReusing(t, r, func(tk *task.T) error {
			for {
				want = nextLine("Leaf")
				_, _ = task.Await(tk, leaf)
			}
		}))
	}
	r.await(leaf, 3)
	var err error
	r.do(func() {
		r.pool.Drain(r.Finish)
		err = r.pool.Abandon()
		if again := r.pool.Abandon(); again != nil {
			t.Error(again)
		}
	})
	<-r.ended
	if !errors.Is(err, task.ErrAbandoned) || !strings.HasPrefix(err.Error(), "3 tasks ") ||
		strings.Count(err.Error(), want) != 1 {
		t.Errorf("%v, want 3 tasks, and once %q", err, want)
	}
	for _, o := range all {
		o.expect("stopped")
	}
	leaf.Finish()
}
