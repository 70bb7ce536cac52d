//go:build linux

package reactor

import (
	"time"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/timerqueue"
)

// slotQueue is a queue of the slots of operations that wait for a buffer. A slot is on one such queue at a time.
type slotQueue struct{ list intrusive.List }

func (q *slotQueue) empty() bool      { return q.list.Empty() }
func (q *slotQueue) has(s *slot) bool { return q.list.Has(&s.buffer) }
func (q *slotQueue) add(s *slot)      { q.list.PushBack(&s.buffer) }
func (q *slotQueue) remove(s *slot)   { q.list.Remove(&s.buffer) }

// first is the slot that has waited longest; nil: none waits.
func (q *slotQueue) first() *slot {
	return intrusive.Owner[slot](q.list.First(), unsafe.Offsetof(slot{}.buffer))
}

// starvation finds out that receives get no buffer although the ring has some. However that can be, to arm them again
// immediately would be a busy loop, so they back off.
//
//	fed → starved   a receive that was armed for the buffers in the ring found none, and no buffer has been given to
//	                the ring or taken from it meanwhile. A timer of starvedBackoff runs.
//	starved → fed   a buffer was given to the ring or taken from it, or the timer has expired.
type starvation struct {
	is     bool
	moves  uint64 // how often a buffer was given to the ring or taken from it
	served uint64 // moves when waiting receives were last armed
	retry  timerqueue.Timer
}

// starvedBackoff is how long receives back off when the ring is starved.
const starvedBackoff = 10 * time.Millisecond

// moved is called when a buffer was given to the ring or taken from it.
func (s *starvation) moved() {
	s.moves++
	s.is = false
}

// retryStarved is a Buffers as the handler of that timer.
type retryStarved Buffers

func (r *retryStarved) OnTimer(int64) { r.starved.is = false }

// wait puts a receive that found no buffer into the queue for one, and lets the window grow.
func (b *Buffers) wait(o *op) {
	b.loop.count.bufferWaits++
	b.window.ranOut(b.inRing, cap(b.free))
	if s := &b.starved; b.inRing != 0 && s.moves == s.served && !s.is {
		s.is = true
		b.loop.timers.Update(&s.retry, b.loop.now+int64(starvedBackoff))
	}
	o.state = opDormant
	b.waiting.add(b.loop.slots.at(slotOf(o.id)))
}

// dropWaiter takes a dormant operation out of the queue that it is in, if any.
func (b *Buffers) dropWaiter(o *op) {
	q := &b.waiting
	if o.rationed {
		q, o.rationed = &b.rationed, false
	}
	if s := b.loop.slots.at(slotOf(o.id)); q.has(s) {
		q.remove(s)
	}
}

// armWaiting arms as many of the receives that wait as there are buffers in the ring.
func (b *Buffers) armWaiting() {
	b.starved.served = b.starved.moves
	for armed := 0; !b.waiting.empty() && armed < b.inRing; armed++ {
		s := b.waiting.first()
		b.waiting.remove(s)
		if assert.Enabled && s.op.state != opDormant {
			panic("reactor: an operation waits for a buffer and is not dormant")
		}
		s.op.arm()
	}
}

// mustRefill reports whether refill has to be called before the loop may sleep: a receive still waits while there are
// buffers in the ring, or is rationed while buffers are ample. The receives that were armed for the buffers may have
// nothing to receive, since a receive needs a buffer even to find that out; then the next one has to be armed.
func (b *Buffers) mustRefill() bool {
	return !b.waiting.empty() && b.inRing != 0 && !b.starved.is || b.canResumeRationed()
}
