package reactor

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// remoteStack is how other threads reach a loop: an intrusive stack with many producers and one
// consumer, whose head also says whether the consumer sleeps. A producer learns that from the
// exchange it makes anyway, so a sleep costs one wake-up however many post during it.
type remoteStack struct {
	head atomic.Pointer[sender.Work]
}

// What the head can be besides nil (awake, empty) and the last work pushed.
var (
	asleep = new(sender.Work)
	closed = new(sender.Work)
)

// push adds w. wake: the consumer sleeps and must be woken. ok is false once the stack is closed.
func (s *remoteStack) push(w *sender.Work) (wake, ok bool) {
	for {
		old := s.head.Load()
		switch old {
		case closed:
			return false, false
		case asleep:
			w.Next = nil
		default:
			w.Next = old
		}
		if s.head.CompareAndSwap(old, w) {
			return old == asleep, true
		}
	}
}

// take empties the stack; the work comes first in, first out. The consumer counts as awake from here.
func (s *remoteStack) take() (first *sender.Work) {
	if s.head.Load() == nil {
		return nil
	}
	w := s.head.Swap(nil)
	if w == asleep {
		return nil
	}
	for w != nil {
		w.Next, first, w = first, w, w.Next
	}
	return first
}

// sleep marks the consumer asleep, unless there is work.
func (s *remoteStack) sleep() bool { return s.head.CompareAndSwap(nil, asleep) }

// unsleep makes the consumer awake; true if it was marked asleep.
func (s *remoteStack) unsleep() bool { return s.head.CompareAndSwap(asleep, nil) }

// close refuses further work, unless there is some.
func (s *remoteStack) close() bool { return s.head.CompareAndSwap(nil, closed) }

// remoteCancels are stop requests made on other threads, by user_data: one that comes too late finds
// nothing. It takes a lock, because an operation should not carry a link for so rare a case.
type remoteCancels struct {
	pending atomic.Bool
	mu      sync.Mutex
	queue   []uint64
	spare   []uint64
}

func (c *remoteCancels) post(userData uint64) {
	c.mu.Lock()
	c.queue = append(c.queue, userData)
	c.pending.Store(true)
	c.mu.Unlock()
}

// take empties the queue. What it returns is valid until the next take.
func (c *remoteCancels) take() []uint64 {
	if !c.pending.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending.Store(false)
	c.queue, c.spare = c.spare[:0], c.queue
	return c.spare
}
