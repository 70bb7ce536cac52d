package reactor

import (
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
func (s *remoteStack) unsleep() bool {
	return s.head.Load() == asleep && s.head.CompareAndSwap(asleep, nil)
}

// close refuses further work, unless there is some.
func (s *remoteStack) close() bool { return s.head.CompareAndSwap(nil, closed) }
