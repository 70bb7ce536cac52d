package sender_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/reactord/reactord/sender"
)

// forgotten tests that nothing refers to p.
func forgotten[T any](t *testing.T, p weak.Pointer[T]) {
	t.Helper()
	runtime.GC() // one of them: a sync.Pool still has what was in it
	if p.Value() != nil {
		t.Error("it is kept alive")
	}
}

// A queue that is empty does not keep what it had.
func TestEmptyQueueForgets(t *testing.T) {
	var q sender.WorkQueue
	last := func() weak.Pointer[sender.Work] {
		first, last := new(sender.Work), new(sender.Work)
		q.Push(first)
		q.Push(last)
		if q.Pop() != first || q.Pop() != last || q.Pop() != nil || first.Next != nil {
			t.Error("the order is wrong")
		}
		return weak.Make(last)
	}()
	forgotten(t, last)
	if w := new(sender.Work); !q.Empty() {
		t.Error("it is not empty")
	} else if q.Push(w); q.Pop() != w {
		t.Error("it cannot be used again")
	}
}

// What is pooled does not keep the scheduler that it was used with last.
func TestExecuteForgets(t *testing.T) {
	l := func() weak.Pointer[sender.RunLoop] {
		l := new(sender.RunLoop)
		sender.Execute(l, l.Finish)
		l.Run()
		return weak.Make(l)
	}()
	forgotten(t, l)
}
