package task

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// On runs f as a task on sch, a child of t, and returns what it returned; t is suspended meanwhile and
// goes on where it belongs. f awaits with its own T. Whoever asks t to stop asks the child.
//
// It is how a task changes its scheduler for a part: for what blocks, or computes for long.
//
// Source: P3552R3 §4.5 (change_coroutine_scheduler, which changes it until further notice; unifex found
// that too subtle), P2300R10 [exec.on].
func On[V any](t *T, sch sender.Scheduler, f func(*T) (V, error)) (V, error) {
	return Await(t, on[V]{f, sch})
}

// Unstoppable calls f, and shields from stop requests what the task awaits in it: for cleaning up, as in
//
//	defer task.Unstoppable(t, func() { task.Await(t, conn.Close()) })
//
// Source: P2300R10 [exec.unstoppable].
func Unstoppable(t *T, f func()) {
	t.check()
	defer func(token stop.Token, was bool) { t.token, t.shielded = token, was }(t.token, t.shielded)
	t.token, t.shielded = stop.Token{}, true
	f()
}

// Yield lets the task's scheduler do what else is to be done, and returns at the task's next turn. The
// error is sender.ErrStopped if stop was requested.
func Yield(t *T) error {
	// Not Schedule, which is new work, to which a limit of the scheduler would apply.
	_, err := Await(t, sender.ContinuesOn(sender.Just(struct{}{}), t.sch))
	if err == nil && t.token.StopRequested() {
		err = sender.ErrStopped
	}
	return err
}

// on is the sender of a child task elsewhere.
type on[V any] struct {
	f   func(*T) (V, error)
	sch sender.Scheduler
}

// onOp is its operation state, the child's receiver, and that one's environment.
type onOp[V any] struct {
	child ValueOp[V]
	r     sender.Receiver[V]
	env   sender.Env
	sch   sender.Scheduler
}

func (s on[V]) Connect(op *onOp[V], r sender.Receiver[V]) sender.Operation {
	op.r, op.sch = r, s.sch
	NewValue(s.f).Connect(&op.child, op)
	return op
}

func (op *onOp[V]) Start() {
	op.env = op.r.Env()
	op.child.Start()
}

func (op *onOp[V]) SetValue(v V)       { op.r.SetValue(v) }
func (op *onOp[V]) SetError(err error) { op.r.SetError(err) }
func (op *onOp[V]) SetStopped()        { op.r.SetStopped() }
func (op *onOp[V]) Env() sender.Env    { return (*onEnv[V])(op) }

type onEnv[V any] onOp[V]

func (e *onEnv[V]) StopToken() stop.Token       { return e.env.StopToken() }
func (e *onEnv[V]) Scheduler() sender.Scheduler { return e.sch }
func (e *onEnv[V]) Value(key any) any           { return e.env.Value(key) }
