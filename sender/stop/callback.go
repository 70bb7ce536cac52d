package stop

import (
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// Handler handles a stop request.
type Handler interface {
	// OnStop handles the stop request. It is called at most once for each registration: on the thread that requests
	// stop or, if stop was requested before, inside Register. See "What it requires" in the documentation of the
	// package.
	OnStop()
}

// Callback registers a [Handler] with a [Token]. It is intrusive: the caller owns its memory, which must stay where it
// is while the callback is registered, and must not be copied. The zero Callback is ready.
type Callback struct {
	src     *Source // of the registration; nil: not registered
	links   intrusive.Links
	handler Handler
}

// callbackOf returns the callback with these links; nil if l is nil.
func callbackOf(l *intrusive.Links) *Callback {
	return intrusive.Owner[Callback](l, unsafe.Offsetof(Callback{}.links))
}

// Register arranges for h.OnStop to be called when stop is requested. If stop has been requested already, Register
// calls it before it returns, and the callback is not registered. With a token that never stops Register does nothing.
//
// The callback must not be registered already.
func (c *Callback) Register(t Token, h Handler) {
	if t.src != nil {
		c.register(t.src, h)
	}
}

func (c *Callback) register(s *Source, h Handler) {
	if c.src != nil {
		panic("stop: Register of a registered callback: call Deregister first")
	}
	if s.StopRequested() {
		h.OnStop()
		return
	}
	s.mu.Lock()
	if s.StopRequested() {
		s.mu.Unlock()
		h.OnStop()
		return
	}
	c.src, c.handler = s, h
	s.registered.PushFront(&c.links)
	s.mu.Unlock()
}

// Deregister makes sure that the handler will not be called again. If the handler is running on another goroutine,
// Deregister waits until it has returned. Called from inside the handler it returns immediately. Afterwards the
// callback may be registered again, and its memory may be reused.
//
// It does nothing if the callback is not registered.
func (c *Callback) Deregister() {
	if c.src != nil {
		c.deregister()
	}
}

func (c *Callback) deregister() {
	s := c.src
	c.src = nil
	if s.state.Load() == handlersReturned {
		return
	}
	s.mu.Lock()
	if s.registered.Has(&c.links) {
		s.registered.Remove(&c.links)
		s.mu.Unlock()
		return
	}
	if s.running != c || s.runner == goroutine.Current() {
		s.mu.Unlock()
		return
	}
	// At most one goroutine waits: the owner of the callback that is running.
	returned := make(chan struct{})
	s.returned = returned
	s.mu.Unlock()
	<-returned
}
