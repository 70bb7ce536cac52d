//go:build linux

package reactor

import (
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// Lease is a received buffer. Its holder may read and write the bytes until Release, which must be called exactly once
// for the Lease and all its copies, on the loop's thread. The zero Lease is empty and needs no Release.
type Lease struct {
	b  *Buffers
	id uint16
	n  int32
}

// lease takes the buffer of a completion, if it carries one.
func (o *op) lease(out outcome) Lease {
	cqe := uring.CQE{Res: out.res, Flags: out.flags}
	id, ok := cqe.BufferID()
	if !ok {
		return Lease{}
	}
	lease := o.buffers().lease(id, max(int(out.res), 0))
	if out.res <= 0 {
		lease.Release()
		return Lease{}
	}
	return lease
}

// lease makes a lease of a buffer that a completion named.
func (b *Buffers) lease(id uint16, n int) Lease {
	b.flipLeased(id, false)
	b.inRing--
	b.starved.moved()
	b.window.leased(b.inRing)
	b.leased++
	return Lease{b: b, id: id, n: int32(n)}
}

// takeLarge returns an empty lease of a large buffer, or false if none is left.
func (b *Buffers) takeLarge() (l Lease, ok bool) {
	id, ok := b.large.get()
	if !ok {
		return Lease{}, false
	}
	id |= largeID
	b.flipLeased(id, false)
	return Lease{b: b, id: id}, true
}

// space returns all of the buffer.
func (l Lease) space() []byte {
	if l.id&largeID != 0 {
		return l.b.large.space(l.id &^ largeID)
	}
	off := int(l.id) * l.b.size
	return l.b.mem[off : off+l.b.size : off+l.b.size]
}

// Bytes returns the bytes received. Their capacity is that of the buffer: they can be appended to in place.
func (l Lease) Bytes() []byte {
	if l.b == nil {
		return nil
	}
	return l.space()[:l.n]
}

// Len returns the number of bytes received.
func (l Lease) Len() int { return int(l.n) }

// Credits returns how much credit of a sequence the item takes: how many buffers of the usual size hold the bytes.
func (l Lease) Credits() int {
	if l.n == 0 {
		return 1
	}
	return (int(l.n) + l.b.size - 1) / l.b.size
}

// Append copies p behind the bytes of the lease and reports true, or false if there is no room.
func (l *Lease) Append(p []byte) bool {
	room := l.space()[l.n:]
	if len(p) > len(room) {
		return false
	}
	copy(room, p)
	l.n += int32(len(p))
	return true
}

// Release gives the buffer back. The bytes must not be used afterwards: the next receive overwrites them, and with the
// build tag reactordebug Release does. It is called on the loop's thread; when [Loop.Run] has returned it does nothing,
// on any thread.
func (l Lease) Release() {
	b := l.b
	if b == nil {
		return
	}
	if !b.loop.coroutines.Here() {
		if b.loop.ended() {
			return // the memory stays mapped
		}
		b.loop.offThread()
	}
	b.flipLeased(l.id, true)
	if assert.Enabled {
		poison(l.space())
	}
	if l.id&largeID != 0 {
		b.large.put(l.id &^ largeID)
		b.trimLater()
		return
	}
	b.leased--
	b.free = append(b.free, l.id)
	if b.manyResident() {
		b.trimLater()
	}
}

// poison overwrites memory that must no longer be used, so that a holder who does finds nothing sensible.
func poison(space []byte) {
	for i := range space {
		space[i] = 0xdb
	}
}

// flipLeased notes that a buffer is no longer leased (was), or is from now on (!was).
func (b *Buffers) flipLeased(id uint16, was bool) {
	word, bit := &b.isLeased[id/64], uint64(1)<<(id%64)
	if *word&bit != 0 != was {
		panic("reactor: Release of a Lease that was released before: a Lease and its copies are one buffer; release it once")
	}
	*word ^= bit
}
