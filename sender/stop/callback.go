package stop

import (
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// Handler is what a stop request calls.
type Handler interface {
	// OnStop is called at most once per registration, on the thread that requests stop or, if stop
	// was requested before, inside Register. See the package's duties.
	OnStop()
}

// Callback registers a Handler with a Token. It is intrusive: its memory is the caller's, stays where
// it is while registered, and is not copied. The zero value is ready.
type Callback struct {
	src     *Source    // where Deregister must ask; nil: nowhere
	next    *Callback  // guarded by src.mu, as prev is
	prev    **Callback // what points to this one while it is in the list, else nil
	handler Handler
}

// Register arranges for h.OnStop to be called when stop is requested. If that has happened already it
// is called before Register returns, and the callback does not count as registered. With a token that
// never stops Register does nothing.
//
// The callback must not be registered already.
func (c *Callback) Register(t Token, h Handler) {
	if t.src != nil {
		c.register(t.src, h)
	}
}

func (c *Callback) register(s *Source, h Handler) {
	if assert.Enabled && c.src != nil {
		panic("stop: Register of a registered callback")
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
	c.link(&s.head)
	s.mu.Unlock()
}

// Deregister makes sure that the handler will not be called any more. If it is running on another
// goroutine, Deregister waits for it to return; from inside the handler it returns at once. Afterwards
// the callback can be registered again or be overwritten.
//
// A callback that is not registered is left alone.
func (c *Callback) Deregister() {
	if c.src != nil {
		c.deregister()
	}
}

func (c *Callback) deregister() {
	s := c.src
	c.src = nil
	if s.stage.Load() == served {
		return
	}
	s.mu.Lock()
	if c.prev != nil {
		c.unlink()
		s.mu.Unlock()
		return
	}
	if s.running != c || s.runner == goroutine.Current() {
		s.mu.Unlock()
		return
	}
	// There is one waiter at most: the owner of the callback that is running.
	finished := make(chan struct{})
	s.finished = finished
	s.mu.Unlock()
	<-finished
}

// link puts c in front of the list.
func (c *Callback) link(head **Callback) {
	c.next, c.prev = *head, head
	if c.next != nil {
		c.next.prev = &c.next
	}
	*head = c
}

// unlink takes c out of whichever list it is in.
func (c *Callback) unlink() {
	*c.prev = c.next
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
}
