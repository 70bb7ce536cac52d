//go:build linux

package reactor

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// A stop request, on any thread, completes nothing and touches nothing of the loop's: it pushes the operation's
// handle on a stack of the loop's. The loop looks there each time before it enters the ring, and cancels those
// operations. So a stop request takes the same way from every thread, and a cancel is always queued behind its target.

// stopWatch is the stop callback of an operation in flight, and its place among the stop requests. Most operations have
// a token that never stops, so it is not a part of their state: the loop has a list of those that are free.
type stopWatch struct {
	next *stopWatch // on the stack of stop requests or the free list; nil if on neither, or the last free one
	loop *Loop
	id   uint64 // in the slot table, from Start until the completion
	stop.Callback
}

// OnStop implements [stop.Handler].
func (w *stopWatch) OnStop() {
	w.loop.stops.push(w)
	w.loop.nudge()
}

// takeWatch registers a callback that cancels the operation with this id.
func (l *Loop) takeWatch(id uint64, token stop.Token) *stopWatch {
	w := l.watches
	if w == nil {
		w = &stopWatch{loop: l}
	} else {
		l.watches, w.next = w.next, nil
	}
	w.id = id
	w.Register(token, w)
	return w
}

// putWatch deregisters a callback. It is called before the operation is retired. From then on no stop request knows it.
func (l *Loop) putWatch(w *stopWatch) {
	w.Deregister()
	if w.next != nil {
		l.takeStops()
	}
	w.next, l.watches = l.watches, w
}

// stopStack holds the stop requests that a loop has not dealt with. An operation does not complete while it is on it,
// see putWatch.
type stopStack struct{ stack[stopWatch] }

// lastStop is at the bottom of every stopStack, so that next tells whether a stopWatch is on one.
var lastStop stopWatch

// The link comes first, see stack.
var _ = [1]struct{}{}[unsafe.Offsetof(stopWatch{}.next)]

func (s *stopStack) init() { s.bottom = &lastStop }

func (s *stopStack) empty() bool { return s.head.Load() == nil }

// takeStops cancels the operations for which that was requested.
func (l *Loop) takeStops() {
	if l.stops.empty() {
		return
	}
	for w := l.stops.take(); w != &lastStop; {
		next := w.next
		w.next = nil
		l.slots.find(w.id).run.cancel()
		w = next
	}
}

// retire frees the slot of an operation that is about to complete.
func (l *Loop) retire(id uint64) {
	if assert.Enabled {
		if o := l.slots.at(slotOf(id)).op; o != nil { // a timer has none
			if b := o.buffers(); b.has(&b.waiting, id) || b.has(&b.rationed, id) {
				panic("reactor: an operation completes that waits for a buffer")
			}
		}
	}
	l.slots.release(id)
}

// cancelState says whether an ASYNC_CANCEL entry for the operation's entry is with the ring. While it is, the
// operation does not complete: neither its storage nor its user_data may be used again under a live cancel. The
// cancel's own result never decides the outcome: what the operation itself completed with does.
//
//	none       → out         disarm
//	out        → none        the cancel has completed first; the final completion will follow
//	out        → outSettled  the final completion is in first
//	outSettled → none        the cancel has completed: the operation is resolved
//	out        → missed      the cancel stopped nothing, although the entry is with the ring
//	missed     → out         it is tried again: by disarm, see missedCancels
//	missed     → none        arm: the entry that the cancel missed has completed, and the operation is armed again
type cancelState uint8

const (
	cancelNone cancelState = iota
	cancelOut
	cancelOutSettled
	cancelMissed
)

// cancel asks the operation to end.
func (o *op) cancel() {
	o.stopping = true
	switch o.state {
	case opArmed:
		o.disarm()
	case opDormant:
		o.buffers().dropWaiter(o)
		o.ready(outcome{kind: outcomeStopped})
	}
}

// disarm takes the entry back, if it is with the ring: by one more entry, behind it. An operation may do so without
// being asked to stop; its policy then says that ECANCELED is retried.
func (o *op) disarm() {
	if o.state != opArmed || o.cancelOp == cancelOut {
		return
	}
	o.cancelOp = cancelOut
	l := o.loop
	l.scratch.PrepCancel(o.id)
	l.scratch.UserData = o.id | tagCancel
	l.ring.Push(&l.scratch)
	l.count.entries++
	l.count.cancels++
}

// settleCancel takes in the completion of the cancel.
func (o *op) settleCancel(run operation, res int32) {
	o.loop.count.canceledWith(res)
	if o.cancelOp == cancelOutSettled {
		o.cancelOp = cancelNone
		o.resolve(run)
		return
	}
	o.cancelOp = cancelNone
	if (res == -int32(syscall.ENOENT) || res == -int32(syscall.EALREADY)) && o.state == opArmed {
		o.cancelOp = cancelMissed
		o.loop.cancelMissed(o.id)
	}
}

// missedCancels are operations that were with the ring when a cancel found nothing to stop. io_uring finds an entry
// that is polled for or carried out, but not one on its way from the one to the other (ENOENT); and one that a worker
// thread carries out may be polled for again after that (EALREADY). They are cancelled again a little later.
type missedCancels struct {
	ids  []uint64
	rest timerqueue.Timer
}

// missedBackoff is the time after which a cancel that found nothing is tried again.
const missedBackoff = time.Millisecond

func (l *Loop) cancelMissed(id uint64) {
	m := &l.missed
	if m.ids = append(m.ids, id); !m.rest.Pending() {
		m.rest.Init((*cancelAgain)(l))
		l.timers.Push(&m.rest, l.now+int64(missedBackoff))
	}
}

// cancelAgain handles that timer of a Loop.
type cancelAgain Loop

func (c *cancelAgain) OnTimer(int64) {
	l := (*Loop)(c)
	for _, id := range l.missed.ids {
		s := l.slots.find(id)
		if s == nil || s.op.cancelOp != cancelMissed {
			continue // it has completed, or was armed again, or is being cancelled again already
		}
		s.op.disarm() // which does nothing unless the entry is still with the ring
	}
	l.missed.ids = l.missed.ids[:0]
}
