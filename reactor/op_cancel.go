package reactor

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/timerqueue"
)

// A stop request, on whichever thread, completes nothing and touches nothing of the loop's: it leaves the
// operation's handle on a stack of the loop's and is done. The loop looks there each time before it enters
// the ring, and asks the operations to end. So a stop request takes the same way from everywhere and need
// not find out where it is, and a cancel is always queued behind its target.

// handle is what a loop knows an operation by, and its place among the stop requests.
type handle struct {
	next *handle // nil: no stop request waits for this one. See stack
	id   uint64  // in the slot table, from Start until the completion
}

// stopStack is the stop requests that a loop has not dealt with. An operation does not complete while it is here,
// see retire.
type stopStack struct{ stack[handle] }

// lastStop is at the bottom of every stopStack, so that next says whether a handle is on one.
var lastStop handle

// The link comes first, see stack.
var _ = [1]struct{}{}[unsafe.Offsetof(handle{}.next)]

func (s *stopStack) init() { s.bottom = &lastStop }

func (s *stopStack) empty() bool { return s.head.Load() == nil }

// requestStop is what a stop callback of an operation does. From any thread.
func (l *Loop) requestStop(h *handle) {
	l.stops.push(h)
	l.nudge()
}

// takeStops asks those operations to end for which that was requested.
func (l *Loop) takeStops() {
	if l.stops.empty() {
		return
	}
	for h := l.stops.take(); h != &lastStop; {
		next := h.next
		h.next = nil
		l.slots.find(h.id).run.cancel()
		h = next
	}
}

// retire frees the slot of an operation that is over and whose stop callback is not registered any more.
func (l *Loop) retire(h *handle) {
	if h.next != nil {
		l.takeStops()
	}
	if b := &l.buffers; assert.Enabled && (b.waiting.has(l.slots.at(slotOf(h.id))) || b.rationed.has(l.slots.at(slotOf(h.id)))) {
		panic("reactor: an operation is over that waits for a buffer")
	}
	l.slots.release(h.id)
}

// opStop is an op as the handler of its stop callback.
type opStop op

// OnStop implements stop.Handler.
func (s *opStop) OnStop() { s.loop.requestStop(&s.handle) }

// disarm takes the entry back: one more entry, behind it.
func (o *op) disarm() {
	if o.state != opArmed || o.cancelOut {
		return
	}
	o.cancelOut = true
	l := o.loop
	l.scratch.PrepCancel(o.id)
	l.scratch.UserData = o.id | tagCancel
	l.ring.Push(&l.scratch)
	l.count.cancels++
}

// cancel asks for the end.
func (o *op) cancel() {
	o.stopping = true
	switch o.state {
	case opArmed:
		o.disarm()
	case opDormant:
		o.loop.buffers.dropWaiter(o)
		o.ready(-int32(syscall.ECANCELED))
	}
}

// missedCancels are operations that were with the ring when a cancel of theirs found nothing: io_uring finds an entry
// that is polled for or at work, but not one on its way from the one to the other. They are cancelled again after a rest.
type missedCancels struct {
	ids  []uint64
	rest timerqueue.Timer
}

// missRest is how long a cancel that found nothing waits to be tried again.
const missRest = time.Millisecond

func (l *Loop) cancelMissed(id uint64) {
	m := &l.missed
	if m.ids = append(m.ids, id); !m.rest.Pending() {
		m.rest.Init((*cancelAgain)(l))
		l.timers.Push(&m.rest, l.now+int64(missRest))
	}
}

// cancelAgain is a Loop as the handler of that timer.
type cancelAgain Loop

func (c *cancelAgain) OnTimer(int64) {
	l := (*Loop)(c)
	for _, id := range l.missed.ids {
		if s := l.slots.find(id); s != nil && s.op.missed { // else it has gone on to another entry
			s.op.disarm()
		}
	}
	l.missed.ids = l.missed.ids[:0]
}

// settleCancel takes in the completion of the cancel. How the cancel fared does not matter: what the
// operation itself completed with does.
func (o *op) settleCancel(res int32) bool {
	o.cancelOut = false
	if o.finalIn {
		o.finalIn = false
		return true
	}
	if res == -int32(syscall.ENOENT) && o.state == opArmed {
		o.missed = true
		o.loop.cancelMissed(o.id)
	}
	return false
}

// over: somebody asked for the end of the operation or of its descriptor, so it must not be armed again: the
// cancel that would have reached it may have been and gone.
func (o *op) over() bool {
	return o.stopping || o.on != nil && o.on.state != descriptorOpen
}

// cancelled: the operation ended without a result because its end was asked for.
func (o *op) cancelled() bool {
	errno := syscall.Errno(-o.res)
	return o.over() && (errno == syscall.ECANCELED || errno == syscall.EINTR)
}
