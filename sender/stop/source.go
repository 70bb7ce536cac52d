package stop

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// Source is where stop is requested. The zero Source is ready. It must not be copied, and it must stay where it is
// while a [Token] of it is in use.
//
// All methods except Reset may be called from any thread.
type Source struct {
	state      atomic.Uint32
	mu         sync.Mutex     // guards the fields below, changes of state, and the links of the callbacks
	runner     uintptr        // the goroutine that runs handlers
	registered intrusive.List // callbacks whose handler has not been called
	running    *Callback      // its handler is running
	returned   chan struct{}  // closed when that handler returns; nil: no goroutine waits for it
}

// The states of a source. Each leads to the next; Reset leads back to the first.
const (
	notRequested     uint32 = iota
	handlersRunning         // RequestStop is running handlers
	handlersReturned        // every handler has returned, and callbacks can no longer be registered
)

// StopRequested reports whether RequestStop has been called.
func (s *Source) StopRequested() bool { return s.state.Load() != notRequested }

// Token returns the token of this source.
func (s *Source) Token() Token { return Token{s} }

// RequestStop requests all holders of a token to stop. It runs the registered handlers before it returns, on this
// thread, one at a time. It reports whether this call was the first. Later calls do nothing, and do not wait for the
// first.
func (s *Source) RequestStop() bool {
	if s.StopRequested() {
		return false
	}
	s.mu.Lock()
	if s.StopRequested() {
		s.mu.Unlock()
		return false
	}
	if !s.registered.Empty() {
		s.state.Store(handlersRunning)
		s.runHandlers()
	}
	s.state.Store(handlersReturned)
	s.mu.Unlock()
	return true
}

// runHandlers calls the registered handlers. It is called and returns with mu held, and releases mu while a handler
// runs.
func (s *Source) runHandlers() {
	s.runner = goroutine.Current()
	returned := false
	defer aftergoexit.Run(&returned, s.continueAfterGoexit)
	for c := s.next(); c != nil; c = s.next() {
		s.running = c
		h := c.handler
		s.mu.Unlock()

		h.OnStop() // when it returns, the memory of c may have been reused

		s.mu.Lock()
		s.handlerReturned()
	}
	returned = true
}

// next takes the callback that was registered last, or returns nil.
func (s *Source) next() *Callback { return callbackOf(s.registered.PopFront()) }

// handlerReturned wakes the goroutine that waits for the handler that has returned. It is called with mu held.
func (s *Source) handlerReturned() {
	s.running = nil
	if s.returned != nil {
		close(s.returned)
		s.returned = nil
	}
}

// continueAfterGoexit completes a RequestStop whose frame a handler has ended by runtime.Goexit.
func (s *Source) continueAfterGoexit() {
	s.mu.Lock()
	s.handlerReturned()
	s.runHandlers()
	s.state.Store(handlersReturned)
	s.mu.Unlock()
}

// Registered reports whether a callback is registered whose handler has not been called. It is for assertions.
func (s *Source) Registered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.registered.Empty()
}

// Reset makes the source new, so that an operation state that contains it can be started again. No callback may be
// registered, no RequestStop may be running, and no other thread may use the source.
func (s *Source) Reset() {
	if !s.registered.Empty() {
		panic("stop: Reset of a source with a registered callback: deregister it first")
	}
	if s.state.Load() == handlersRunning {
		panic("stop: Reset of a source inside RequestStop: wait until it has returned")
	}
	s.state.Store(notRequested)
}
