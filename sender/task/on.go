package task

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// On runs f as a child task on sch, suspends t until it has completed, and returns what f returned. t continues on its
// own scheduler. f awaits with its own T. With On a task runs a part of itself on another scheduler: for example a part
// that blocks, or that computes for a long time.
//
// Cancellation: the child gets the stop requests of t.
//
// Source: P3552R3 §4.5 (change_coroutine_scheduler, which changes it until further notice; unifex found
// that too subtle), P2300R10 [exec.on].
func On[V any](t *T, sch sender.Scheduler, f func(*T) (V, error)) (V, error) {
	return Await(t, on[V]{f, sch})
}

// Unstoppable calls f. What the task awaits inside f gets no stop requests. It is for clean-up:
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

// Yield lets the task's scheduler run other work, and returns when the task is resumed. The error is
// [sender.ErrStopped] if stop was requested.
func Yield(t *T) error {
	// Not Schedule: that is new work, and the scheduler may have a limit for new work.
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

// onOp is its operation state, and the receiver of the child.
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
