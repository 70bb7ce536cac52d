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
	t.check()
	token := t.token
	if t.co.home != nil {
		// What the task awaits on its own scheduler ends when that does. This would not.
		var l *link
		token, l = t.co.forward(token)
		defer l.parent.Deregister()
	}
	return Await(t, on[V]{f, sch, token})
}

// Unstoppable calls f, and shields from stop requests what the task awaits in it: for cleaning up, as in
//
//	defer task.Unstoppable(t, func() { task.Await(t, conn.Close()) })
//
// Source: P2300R10 [exec.unstoppable].
func Unstoppable(t *T, f func()) {
	t.check()
	defer func(token stop.Token) { t.token = token }(t.token)
	t.token = stop.Token{}
	f()
}

// Yield lets the task's scheduler do what else is to be done, and returns at the task's next turn. The
// error is sender.ErrStopped if stop was requested.
func Yield(t *T) error {
	_, err := Await(t, sender.Schedule(t.sch))
	return err
}

// link is a stop source of a coroutine, made when it is first needed: it forwards the requests of the
// task's token, and the scheduler's own when that drains.
type link struct {
	source stop.Source
	parent stop.Callback
}

// OnStop forwards a request.
func (l *link) OnStop() { l.source.RequestStop() }

func (l *link) requestStop() {
	if l != nil {
		l.source.RequestStop()
	}
}

// forward is a token that stops when token does or the coroutine's home drains. The link's callback is
// to be deregistered.
func (co *coroutine) forward(token stop.Token) (stop.Token, *link) {
	if co.link == nil {
		co.link = new(link)
	}
	l := co.link
	l.source.Reset()
	l.parent.Register(token, l)
	if co.home.draining {
		l.source.RequestStop()
	}
	return l.source.Token(), l
}

// on is the sender of a child task elsewhere.
type on[V any] struct {
	f     func(*T) (V, error)
	sch   sender.Scheduler
	token stop.Token
}

// onOp is its operation state, the child's receiver, and that one's environment.
type onOp[V any] struct {
	child ValueOp[V]
	r     sender.Receiver[V]
	env   sender.Env
	sch   sender.Scheduler
	token stop.Token
}

func (s on[V]) Connect(op *onOp[V], r sender.Receiver[V]) {
	op.r, op.sch, op.token = r, s.sch, s.token
	NewValue(s.f).Connect(&op.child, op)
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

func (e *onEnv[V]) StopToken() stop.Token       { return e.token }
func (e *onEnv[V]) Scheduler() sender.Scheduler { return e.sch }
func (e *onEnv[V]) Value(key any) any           { return e.env.Value(key) }
