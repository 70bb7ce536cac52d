//go:build linux

package reactor

// A connection that cannot get rid of what it has received, because its other side does not read, keeps the buffers
// that hold it. It must not get the last buffers: every other connection on the loop would stop. While buffers are
// ample, a sequence takes what it has credit for. When they become scarce, a sequence is rationed: it waits while it
// holds more than its share, which is a part of what is left of one half of the buffers. The other half is for
// sequences that hold none: they find a buffer as long as that half lasts.
//
// The share shrinks as others take theirs: see Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
// Packet Switches", 1998. What a sequence holds is the credit that it has used and that was not granted again. A
// sequence of unlimited credit is not rationed.

// shareOf: a share is that part of what is left to be shared.
const shareOf = 4

// ration is how the buffers of a loop are shared.
type ration struct {
	common   int       // how many can be held beyond each sequence's first
	ample    int       // while no more than these are leased, no sequence is rationed
	rationed slotQueue // the sequences that are rationed; see op.rationed
}

func newRation(limit int) ration { return ration{common: limit / 2, ample: limit / 4} }

// exceeds reports whether a sequence that holds so many buffers may have no further one now.
func (b *Buffers) exceeds(held int32) bool {
	return b.leased > b.ample && held > 0 && int(held) >= (b.common-b.leased)/shareOf
}

// allowance is how many of n buffers a sequence that holds so many may be given before it is judged again. It is 1 at
// least.
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
		b.rationed.add(b.loop.slots.at(slotOf(o.id)))
	}
	return o.rationed
}

// canResumeRationed reports whether sequences are rationed although buffers are ample again.
func (b *Buffers) canResumeRationed() bool { return !b.rationed.empty() && b.leased <= b.ample }

// resumeRationed resumes them.
func (b *Buffers) resumeRationed() {
	for n := 0; n < batch && b.canResumeRationed(); n++ {
		s := b.rationed.first()
		b.dropWaiter(s.op)
		s.op.rearm(s.run)
	}
}
