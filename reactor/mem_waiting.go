//go:build linux

package reactor

import (
	"time"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/timerqueue"
)

// slotQueue is a queue of the slots of operations that wait for a buffer. A slot is on one such queue at a time.
type slotQueue struct{ slotList }

func (q *slotQueue) empty() bool { return q.slotList.first == 0 }

// has reports whether the operation with this id is in the queue.
func (b *Buffers) has(q *slotQueue, id uint64) bool {
	return b.loop.slots.has(&q.slotList, awaitingBuffer, slotOf(id))
}

func (b *Buffers) add(q *slotQueue, id uint64) {
	b.loop.slots.pushBack(&q.slotList, awaitingBuffer, slotOf(id))
}

func (b *Buffers) remove(q *slotQueue, id uint64) {
	b.loop.slots.remove(&q.slotList, awaitingBuffer, slotOf(id))
}

// first returns the slot that has waited longest in the queue, which is not empty.
func (b *Buffers) first(q *slotQueue) *slot { return b.loop.slots.at(q.slotList.first - 1) }

// len returns the length of the queue.
func (b *Buffers) len(q *slotQueue) (n int) {
	for named := q.slotList.first; named != 0; named = b.loop.slots.linksOf(named, awaitingBuffer).next {
		n++
	}
	return n
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

// starvedBackoff is the time that receives back off when the ring is starved.
const starvedBackoff = 10 * time.Millisecond

// moved notes that a buffer was given to the ring or taken from it.
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
	b.add(&b.waiting, o.id)
	b.noticeExhausted()
}

// dropWaiter takes a dormant operation out of the queue that it is in, if any.
func (b *Buffers) dropWaiter(o *op) {
	q := &b.waiting
	if o.rationed {
		q, o.rationed = &b.rationed, false
	}
	if b.has(q, o.id) {
		b.remove(q, o.id)
	}
}

// armWaiting arms as many of the receives that wait as there are buffers in the ring.
func (b *Buffers) armWaiting() {
	b.starved.served = b.starved.moves
	for armed := 0; !b.waiting.empty() && armed < b.inRing; armed++ {
		s := b.first(&b.waiting)
		b.remove(&b.waiting, s.op.id)
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

// A connection that cannot get rid of what it has received, because its other side does not read, keeps the buffers
// that hold it. It must not get the last buffers: every other connection on the loop would stop. While buffers are
// ample, a sequence takes what it has credit for. When they become scarce, a sequence is rationed: it waits while it
// holds more than its share, which is a part of what is left of one half of the buffers. The other half is for
// sequences that hold none: they find a buffer as long as that half lasts.
//
// A sequence that was armed while buffers were ample may take all that are in the ring before the loop can judge it. So
// the ring never has more of the first half than can be held, and of the other half few at a time.
//
// The share shrinks as others take theirs: see Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
// Packet Switches", 1998. What a sequence holds is the credit that it has used and that was not granted again. A
// sequence of unlimited credit is not rationed.

const (
	// shareOf is the divisor of what is left to be shared that gives a share.
	shareOf = 4
	// reserveOf is the divisor of what is left of the other half that gives how much of it is in the ring.
	reserveOf = 64
)

// ration shares the buffers of a loop among its sequences.
type ration struct {
	common   int       // how many can be held beyond each sequence's first
	ample    int       // while no more than these are leased, no sequence is rationed
	rationed slotQueue // the sequences that are rationed; see op.rationed
}

func newRation(limit int) ration { return ration{common: limit / 2, ample: limit / 4} }

// inRingAtMost returns how many buffers may be in the ring.
func (b *Buffers) inRingAtMost() int {
	if left := b.common - b.leased; left > 0 {
		return min(b.window.target, left)
	}
	return min(b.window.target, max((len(b.free)+b.inRing)/reserveOf, 1))
}

// exceeds reports whether a sequence that holds that many buffers must not get another one now.
func (b *Buffers) exceeds(held int32) bool {
	return b.leased > b.ample && held > 0 && int(held) >= (b.common-b.leased)/shareOf
}

// allowance returns how many of n buffers a sequence holding that many may get before it is judged again: at least 1.
func (b *Buffers) allowance(n, held int32) int32 {
	if b.leased <= b.ample {
		return n
	}
	return min(n, max(int32((b.common-b.leased)/shareOf)-held, 1))
}

// mustWait reports whether a sequence that is about to be armed is rationed. It is resumed when it is granted credit
// for what it holds, or when buffers are ample again: it may need more before it can give back what it has.
func (b *Buffers) mustWait(o *op, held int32) bool {
	if o.rationed {
		b.dropWaiter(o)
	}
	if o.rationed = b.exceeds(held); o.rationed {
		b.add(&b.rationed, o.id)
	}
	return o.rationed
}

// mustRefill reports whether [Buffers.mustRefill] holds of any buffers.
func (l *Loop) mustRefill() bool {
	return l.buffers.mustRefill() || l.whole != nil && l.whole.mustRefill()
}

// refill calls [Buffers.refill] of all buffers.
func (l *Loop) refill() {
	l.buffers.refill()
	if l.whole != nil {
		l.whole.refill()
	}
}

// canResumeRationed reports whether sequences are rationed although buffers are ample again.
func (b *Buffers) canResumeRationed() bool { return !b.rationed.empty() && b.leased <= b.ample }

// resumeRationed resumes them.
func (b *Buffers) resumeRationed() {
	for n := 0; n < batch && b.canResumeRationed(); n++ {
		s := b.first(&b.rationed)
		b.dropWaiter(s.op)
		s.op.rearm(s.run)
	}
}
