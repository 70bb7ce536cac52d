package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
)

// remoteStack is how other threads reach a loop: a stack of work whose head also says whether the loop sleeps. A
// producer learns that from the exchange that it makes anyway, so one sleep costs one wake-up, however many threads
// push meanwhile.
type remoteStack struct{ stack[sender.Work] }

// The marks of every remoteStack.
var (
	asleep = new(sender.Work)
	closed = new(sender.Work)
)

// The link comes first, see stack.
var _ = [1]struct{}{}[unsafe.Offsetof(sender.Work{}.Next)]

func (s *remoteStack) init() { s.stack.asleep, s.stack.closed = asleep, closed }

// push adds w. wake: the loop sleeps and must be woken. ok is false when the stack is closed.
func (s *remoteStack) push(w *sender.Work) (wake, ok bool) {
	found := s.stack.push(w)
	return found == asleep, found != closed
}

// sleep marks the loop asleep, unless there is work.
func (s *remoteStack) sleep() bool { return s.head.CompareAndSwap(nil, asleep) }

// unsleep marks the loop awake, and reports whether it was marked asleep.
func (s *remoteStack) unsleep() bool {
	return s.head.Load() == asleep && s.head.CompareAndSwap(asleep, nil)
}

// close makes the stack refuse work from now on, and reports true; it reports false if there is work.
func (s *remoteStack) close() bool { return s.head.CompareAndSwap(nil, closed) }
