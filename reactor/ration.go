package reactor

// Whoever does not get rid of what was received for him, because his peer does not read, keeps the buffers that it is
// in. They must not be the last ones: everybody else on the loop would stand still. So while buffers are ample a
// sequence takes what it has credit for, but when they become scarce it rests while it holds more than its share: a part
// of what is left of one half of them. The other half is for those that hold none, who always find one as long as
// that half lasts.
//
// The share shrinks as others take theirs, see Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
// Packet Switches", 1998. What a sequence holds is the credit that it has used up and was not granted again. One of
// unlimited credit is not rationed.

// shareOf: a share is that part of what is left to be shared.
const shareOf = 4

// ration is how the buffers of a loop are shared out.
type ration struct {
	common  int  // how many of them can be held beyond each sequence's first
	ample   int  // while no more are lent nobody is rationed
	resting line // sequences that hold their share; see op.rationed
}

func newRation(limit int) ration { return ration{common: limit / 2, ample: limit / 4} }

// exceeds reports whether a sequence that holds so many buffers may have no further one now.
func (b *Buffers) exceeds(held int32) bool {
	return b.lent > b.ample && held > 0 && int(held) >= (b.common-b.lent)/shareOf
}

// allowance is how many of n buffers a sequence that holds so many may be given before it is looked at again. It is 1
// at least.
func (b *Buffers) allowance(n, held int32) int32 {
	if b.lent <= b.ample {
		return n
	}
	return min(n, max(int32((b.common-b.lent)/shareOf)-held, 1))
}

// rests reports whether a sequence that is about to be armed has to rest. It goes on when it is granted credit for
// what it holds, or when buffers are ample again: it may want more before it can give back what it has.
func (b *Buffers) rests(o *op, held int32) bool {
	if o.rationed {
		b.forsake(o)
	}
	if o.rationed = b.exceeds(held); o.rationed {
		b.resting.add(b.loop.slots.at(slotOf(o.id)))
	}
	return o.rationed
}

// relieved: there are sequences that rest although buffers are ample again.
func (b *Buffers) relieved() bool { return b.resting.first != nil && b.lent <= b.ample }

// resume lets those go on.
func (b *Buffers) resume() {
	for n := 0; n < batch && b.relieved(); n++ {
		s := b.resting.first
		b.forsake(s.op)
		s.op.rearm(s.run)
	}
}
