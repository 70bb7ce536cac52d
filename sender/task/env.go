package task

import (
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// env is the environment of what a task awaits. It is the coroutine's: when a task is cut short, an operation that is
// still in flight elsewhere goes on to have an environment, while the task's receiver and what that refers to may be
// gone.
type env struct {
	sch    sender.Scheduler
	token  stop.Token
	mu     sync.Mutex
	parent sender.Env // the receiver's, for open queries, which hold mu; nil: the task is over
}

func (e *env) StopToken() stop.Token       { return e.token }
func (e *env) Scheduler() sender.Scheduler { return e.sch }

func (e *env) Value(key any) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.parent == nil {
		return nil
	}
	return e.parent.Value(key)
}

// sever lets go of the receiver's environment.
func (e *env) sever() {
	e.mu.Lock()
	e.parent = nil
	e.mu.Unlock()
}

// link is a stop source of a coroutine at home, made when it is first needed: it forwards the requests of the
// receiver's token, so that an operation which outlives the task is not registered there, and the requests of the
// scheduler when that drains.
type link struct {
	source stop.Source
	parent stop.Callback
	used   bool // by the task that the coroutine runs
}

// OnStop forwards a request.
func (l *link) OnStop() { l.source.RequestStop() }

// linkTo is the token of the coroutine's own source, which forwards the requests of token.
func (co *coroutine) linkTo(token stop.Token) stop.Token {
	if co.link == nil {
		co.link = new(link)
	}
	l := co.link
	if !l.used {
		l.used = true
		l.source.Reset()
		l.parent.Register(token, l)
		if co.home.draining {
			l.source.RequestStop()
		}
	}
	return l.source.Token()
}

func (co *coroutine) unlink() {
	if co.link != nil && co.link.used {
		co.link.used = false
		co.link.parent.Deregister()
	}
}

// requestStop asks for the end of what the task awaits.
func (co *coroutine) requestStop() {
	if co.link != nil && co.link.used {
		co.link.source.RequestStop()
	}
}

// tokenFor is the token for an operation. What completes elsewhere does not end by itself when the scheduler does, and
// has to be asked to.
func (t *T) tokenFor(w *await) stop.Token {
	if w.confined || t.shielded || t.co.home == nil {
		return t.token
	}
	return t.co.linkTo(t.token)
}
