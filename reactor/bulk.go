package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// bulk is how a RecvMany of a stream adapts to what it sees. Several full buffers in a row are bulk: it then receives into
// large buffers, one at a time, until what comes would not fill usual ones either.
type bulk struct {
	adaptive bool
	on       bool
	empty    bool  // nothing is there to be received: wait first
	signs    uint8 // items in a row that speak for the other way to receive
	need     uint8 // how many it takes for bulk
	entry    entryKind
	large    uint16 // the buffer of an entryLarge
}

// entryKind is what the entry of a RecvMany asks for.
type entryKind uint8

const (
	entryUsual entryKind = iota // receives into buffers of the usual size
	entryPoll                   // waits
	entryLarge                  // receives into a large buffer
	entryNone                   // there is none: what the last one brought was taken
)

// It takes bulkSigns in a row to change the way. Each time that bulk turns out to be none, or that there is no
// buffer for it, it takes twice as many the next time, up to maxSigns: messages of just the size of a buffer look like it.
const (
	bulkSigns = 4
	maxSigns  = 64
)

func (b *bulk) reset() { b.on, b.signs, b.need = false, 0, bulkSigns }

// leave goes back to usual buffers, for longer than the last time.
func (b *bulk) leave() { b.on, b.signs, b.need = false, 0, min(2*b.need, maxSigns) }

// entering: the usual receive is to be ended for bulk.
func (b *bulk) entering() bool { return b.on && b.entry == entryUsual }

// judge looks at what was received.
func (b *bulk) judge(l Lease) {
	if !b.adaptive || l.n == 0 {
		return
	}
	if b.on {
		if l.id&largeID != 0 { // and not of what had arrived by then
			b.judgeBulk(int(l.n) >= 2*l.b.size)
		}
		return
	}
	if int(l.n) < l.b.size {
		b.signs = 0
		return
	}
	if b.signs++; b.signs >= b.need {
		b.on, b.empty, b.signs = true, false, 0
	}
}

// judgeBulk looks at an item of bulk: is it more than a usual buffer or two would have held?
func (b *bulk) judgeBulk(is bool) {
	if is {
		b.signs, b.need = 0, bulkSigns
		return
	}
	if b.signs++; b.signs == bulkSigns {
		b.leave()
	}
}

// chooseBulk picks the entry that receives bulk, or waits for it. False: there is no buffer for it.
func (o *RecvManyOp) chooseBulk() bool {
	b, fd := &o.bulk, int(o.on.fd)
	if b.empty {
		b.entry = entryPoll
		o.sqe.PrepPollAdd(fd, unix.POLLIN)
		return true
	}
	lease, ok := o.loop.buffers.takeLarge()
	if !ok {
		b.leave()
		return false
	}
	b.entry, b.large = entryLarge, lease.id
	space := lease.space()
	o.sqe.PrepRecv(fd, unsafe.Pointer(unsafe.SliceData(space)), uint32(len(space)), unix.MSG_DONTWAIT)
	return true
}

// receivedBulk takes what the completion of an entry other than entryUsual brought.
func (o *RecvManyOp) receivedBulk() (lease Lease, ok bool) {
	b := &o.bulk
	kind := b.entry
	b.entry = entryNone
	switch {
	case kind == entryLarge:
		b.empty = o.flags&uring.CQESockNonempty == 0
		lease = Lease{b: &o.loop.buffers, id: b.large, n: max(o.res, 0)}
		if lease.n == 0 {
			lease.Release()
			return Lease{}, false
		}
		return lease, true
	case kind == entryPoll && o.res > 0:
		b.empty, o.res = false, -int32(syscall.EAGAIN)
	}
	return Lease{}, false
}
