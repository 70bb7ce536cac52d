package task

import (
	"sync"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// awaitEnv is the environment of what a task awaits. It belongs to the coroutine: when a task is abandoned, an
// operation that is still in flight elsewhere keeps an environment, although the receiver of the task may be gone.
type awaitEnv struct {
	sch    sender.Scheduler
	token  stop.Token
	mu     sync.Mutex
	parent sender.Env // the receiver's, for queries; guarded by mu; nil: the task has completed
}

// pool returns the pool of the coroutine; nil if that is a goroutine.
func (e *awaitEnv) pool() *CoroutinePool {
	return (*coroutine)(unsafe.Add(unsafe.Pointer(e), -int(unsafe.Offsetof(coroutine{}.env)))).pool
}

func (e *awaitEnv) StopToken() stop.Token       { return e.token }
func (e *awaitEnv) Scheduler() sender.Scheduler { return e.sch }

func (e *awaitEnv) Value(key any) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parent == nil {
		return nil
	}
	return e.parent.Value(key)
}

// detach forgets the receiver's environment.
func (e *awaitEnv) detach() {
	e.mu.Lock()
	e.parent = nil
	e.mu.Unlock()
}

// linkedStop is a stop source of a coroutine in a pool, made when it is first needed. It forwards the stop requests of
// the receiver's token, so that an operation that outlives the task is not registered there; and it forwards the
// request of the pool when that drains.
type linkedStop struct {
	source stop.Source
	parent stop.Callback
	used   bool // by the current task of the coroutine
}

// OnStop forwards a stop request.
func (l *linkedStop) OnStop() { l.source.RequestStop() }

// linkTo returns the token of the coroutine's own source, which forwards the stop requests of token.
func (co *coroutine) linkTo(token stop.Token) stop.Token {
	if co.linkedStop == nil {
		co.linkedStop = new(linkedStop)
	}
	l := co.linkedStop
	if !l.used {
		l.used = true
		l.source.Reset()
		l.parent.Register(token, l)
		if co.pool.draining {
			l.source.RequestStop()
		}
	}
	return l.source.Token()
}

// unlink undoes linkTo.
func (co *coroutine) unlink() {
	if co.linkedStop != nil && co.linkedStop.used {
		co.linkedStop.used = false
		co.linkedStop.parent.Deregister()
	}
}

// requestStop requests what the task awaits to stop.
func (co *coroutine) requestStop() {
	if co.linkedStop != nil && co.linkedStop.used {
		co.linkedStop.source.RequestStop()
	}
}

// tokenFor returns the stop token for an operation. An operation that completes elsewhere does not end with the task's
// scheduler, so it gets a token that the draining pool stops.
func (t *T) tokenFor(w *await) stop.Token {
	if w.confined || t.shielded || t.co.pool == nil {
		return t.token
	}
	return t.co.linkTo(t.token)
}
