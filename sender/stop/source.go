package stop

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// Source is where stop is requested. The zero value is ready. It must not be copied, and it must stay
// where it is while a Token of it is in use.
//
// All methods but Reset may be called from any thread.
type Source struct {
	stage    atomic.Uint32
	mu       sync.Mutex    // guards what follows, the changes of stage, and the links of the callbacks
	runner   uintptr       // goroutine that runs handlers
	head     *Callback     // registered, not yet called
	running  *Callback     // its handler is running
	finished chan struct{} // closed when that handler returns; nil unless somebody waits
}

// The stages of a source. It goes from one to the next.
const (
	fresh     = iota
	requested // handlers are being run
	served    // every handler has returned, and none will be registered any more
)

// StopRequested tells whether RequestStop has been called.
func (s *Source) StopRequested() bool { return s.stage.Load() != fresh }

// Token is the token of this source.
func (s *Source) Token() Token { return Token{s} }

// RequestStop asks everybody who holds a token to stop, and runs the registered handlers, on this
// thread and one at a time, before it returns. It reports whether this call was the first; later ones
// do nothing, and do not wait for the first.
func (s *Source) RequestStop() bool {
	if s.StopRequested() {
		return false
	}
	s.mu.Lock()
	if s.StopRequested() {
		s.mu.Unlock()
		return false
	}
	if s.head != nil {
		s.stage.Store(requested)
		s.runHandlers()
	}
	s.stage.Store(served)
	s.mu.Unlock()
	return true
}

// runHandlers is called and returns with mu held, and lets go of it around each handler.
func (s *Source) runHandlers() {
	s.runner = goroutine.Current()
	returned := false
	defer aftergoexit.Run(&returned, s.goOn) // if a handler ends this frame
	for s.head != nil {
		c := s.head
		c.unlink()
		s.running = c
		h := c.handler
		s.mu.Unlock()

		h.OnStop() // c may have become something else when this returns

		s.mu.Lock()
		s.handled()
	}
	returned = true
}

// handled is called with mu held when a handler has returned.
func (s *Source) handled() {
	s.running = nil
	if s.finished != nil {
		close(s.finished)
		s.finished = nil
	}
}

// goOn is the rest of a RequestStop whose frame a handler has ended by runtime.Goexit.
func (s *Source) goOn() {
	s.mu.Lock()
	s.handled()
	s.runHandlers()
	s.stage.Store(served)
	s.mu.Unlock()
}

// Registered tells whether a callback is registered that has not been called. It is for assertions.
func (s *Source) Registered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head != nil
}

// Reset makes the source new, so that an operation state that holds it can be started again. No
// callback is registered with it, no RequestStop is running, and no other thread uses it.
func (s *Source) Reset() {
	if assert.Enabled && s.Registered() {
		panic("stop: Reset of a source with a registered callback")
	}
	if assert.Enabled && s.stage.Load() == requested {
		panic("stop: Reset of a source inside RequestStop")
	}
	s.stage.Store(fresh)
}
