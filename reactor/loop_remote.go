//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
)

// remoteStack is a stack of work from other threads, whose head also says whether the loop sleeps. A producer learns
// that from the exchange that it makes anyway. So one sleep costs one wake-up, however many threads push meanwhile.
type remoteStack struct{ stack[sender.Work] }

// The marks of every remoteStack.
var (
	asleep = new(sender.Work)
	closed = new(sender.Work)
)

// The link comes first, see stack.
var _ = [1]struct{}{}[unsafe.Offsetof(sender.Work{}.Next)]

func (s *remoteStack) init() { s.stack.asleep, s.stack.closed = asleep, closed }

// push adds w. wake means that the loop sleeps and must be woken. ok is false when the stack is closed.
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

// Enqueue runs w on the loop's thread, in one of its next turns. From any thread. When the loop has drained it refuses
// w, on the calling thread, with [sender.ErrClosed]. A loop that fails, because its ring failed or its drain took too
// long, abandons the work that is left with [sender.ErrStopped].
//
// It makes a Loop a [sender.Scheduler].
func (l *Loop) Enqueue(w *sender.Work) {
	wake, ok := l.remote.push(w)
	switch {
	case !ok:
		w.Runner.Abandon(sender.ErrClosed)
	case wake:
		_ = l.ring.Wake()
	}
}

var _ sender.Scheduler = (*Loop)(nil)

// sleep marks the loop asleep and reports true, unless another thread has left it something to do. A thread that leaves
// something later sees the mark and wakes the ring.
func (l *Loop) sleep() bool {
	if !l.remote.sleep() {
		return false
	}
	if !l.stops.empty() || l.stop.Load() && l.phase == phaseRunning {
		l.remote.unsleep()
		return false
	}
	return true
}

// nudge wakes the loop if it sleeps, so that it checks what was left for it. From any thread.
func (l *Loop) nudge() {
	if l.remote.unsleep() {
		_ = l.ring.Wake()
	}
}
