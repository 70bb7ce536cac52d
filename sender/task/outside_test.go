package task_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/task"
)

// outsider is an affine sender whose Start calls f.
type outsider struct {
	f func(op *outsiderOp)
}

type outsiderOp struct {
	outsider
	r sender.Receiver[int]
}

func (outsider) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

func (s outsider) Connect(op *outsiderOp, r sender.Receiver[int]) sender.Operation {
	op.outsider, op.r = s, r
	return op
}

func (op *outsiderOp) Start() { op.f(op) }

// An affine operation is started on the goroutine of the scheduler. What its Start does comes to the task nevertheless.
func TestAffineStart(t *testing.T) {
	for _, test := range []struct {
		name  string
		start func(op *outsiderOp)
		want  string
	}{
		{"completes", func(op *outsiderOp) { op.r.SetValue(7) }, "value 7"},
		{"stops", func(op *outsiderOp) { op.r.SetStopped() }, "stopped"},
		{"panics", func(*outsiderOp) { panic("mine") }, "error sender: panic: mine"},
		{"ends the goroutine", func(*outsiderOp) { runtime.Goexit() }, "error " + sender.ErrGoexit.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			loop := newCoroutineLoop(t)
			deferred := false
			got := run[int](t, loop, task.NewValue(func(tk *task.T) (int, error) {
				defer func() { deferred = true }()
				return task.Await(tk, outsider{test.start})
			}))
			if got.String() != test.want || !deferred {
				t.Errorf("%v, deferred functions called: %v", got, deferred)
			}
			again := run[int](t, loop, task.NewValue(func(tk *task.T) (int, error) {
				return task.Await(tk, outsider{func(op *outsiderOp) { op.r.SetValue(8) }})
			}))
			if again.Channel != sendertest.OnValue || again.Value != 8 {
				t.Errorf("another task: %v", again)
			}
		})
	}
}

// A task recovers from a panic of an affine Start, and continues.
func TestRecoverFromAffineStart(t *testing.T) {
	got := run[int](t, newCoroutineLoop(t), task.NewValue(func(tk *task.T) (n int, err error) {
		func() {
			defer func() {
				if v := recover(); v != "mine" {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = task.Await(tk, outsider{func(*outsiderOp) { panic("mine") }})
		}()
		return task.Await(tk, outsider{func(op *outsiderOp) { op.r.SetValue(9) }})
	}))
	if got.Value != 9 {
		t.Error(got)
	}
}

// An operation state is used by one task after another, also while the first one waits for something else.
func TestStatesAreShared(t *testing.T) {
	loop := newCoroutineLoop(t)
	var used []*outsiderOp
	note := outsider{func(op *outsiderOp) {
		used = append(used, op)
		op.r.SetValue(0)
	}}
	var waits *outsiderOp
	first := begin[int, task.ValueOp[int]](t, loop, task.NewValue(func(tk *task.T) (int, error) {
		_, _ = task.Await(tk, note)
		return task.Await(tk, outsider{func(op *outsiderOp) { waits = op }})
	}), nil)
	for range 2 {
		run[int](t, loop, task.NewValue(func(tk *task.T) (int, error) { return task.Await(tk, note) }))
	}
	loop.do(func() { waits.r.SetValue(5) })
	if got := first.result(); got.Value != 5 {
		t.Error(got)
	}
	if len(used) != 3 || used[0] != waits || used[1] == waits || used[2] != used[1] {
		t.Errorf("%p, while %p was waited for", used, waits)
	}
}

// A Start that needs much stack does not make the stack of the coroutine grow.
func TestStacksStaySmall(t *testing.T) {
	const tasks = 2000
	loop := newCoroutineLoop(t)
	var ops []*outsiderOp
	deep := outsider{func(op *outsiderOp) {
		descend(30)
		ops = append(ops, op)
	}}
	loop.do(func() { descend(30) }) // its own stack has grown
	before := stackBytes()
	outcomes := make([]*outcome[int], tasks)
	for i := range outcomes {
		outcomes[i] = begin[int, task.ValueOp[int]](t, loop, task.NewValue(func(tk *task.T) (int, error) {
			return task.Await(tk, deep)
		}), nil)
	}
	loop.do(func() {})
	each := (int(stackBytes()) - int(before)) / tasks
	loop.do(func() {
		for _, op := range ops {
			op.r.SetValue(0)
		}
	})
	for _, o := range outcomes {
		o.result()
	}
	if each > 2500 && !raceEnabled {
		t.Errorf("a suspended task has a stack of %d bytes", each)
	}
}

// descend uses more than 100 bytes of stack n times.
//
//go:noinline
func descend(n int) (sum byte) {
	var room [100]byte
	if n > 0 {
		room[n%len(room)] = descend(n - 1)
	}
	for _, b := range room {
		sum += b
	}
	return sum + 1
}

// stackBytes returns the memory of all stacks.
func stackBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
