//go:build linux

package epoll

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// recvmsg makes one recvmsg(2). It uses the caller's header unless something in the header must change.
func (r *Ring) recvmsg(e *entry) verdict {
	switch {
	case e.multishot():
		return r.recvmsgMultishot(e)
	case e.msg != 0 || e.selectsBuffer():
		return r.recvmsgCopy(e)
	}
	header := (*unix.Msghdr)(pointer(&e.Addr))
	want, whole := messageLen(header), e.wholeMessage(header)
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	v := r.received(e, n, want, whole)
	if v == tryAgain && n > 0 {
		r.messages.copyHeader(e, header).advance(n)
	}
	return v
}

// recvmsgCopy makes one recvmsg(2) by a private copy of the header: into a provided buffer, or for the rest of a
// message of which a part has come.
func (r *Ring) recvmsgCopy(e *entry) verdict {
	header := (*unix.Msghdr)(pointer(&e.Addr))
	m := (*message)(nil)
	if e.selectsBuffer() {
		e.Len = uint32(messageLen(header))
		base, size, ok := r.groups.pick(e)
		if !ok {
			return r.noBuffer(e)
		}
		m = r.messages.copyHeader(e, header)
		m.aim(base+uintptr(e.done), size-e.done)
	} else {
		m = r.messages.of(e)
	}
	want, whole := messageLen(&m.header), e.wholeMessage(&m.header)
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(&m.header)),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	if n >= 0 {
		header.Namelen, header.Flags = m.header.Namelen, m.header.Flags
		header.SetControllen(int(m.header.Controllen))
	}
	if n > 0 && n < want {
		m.advance(n)
	}
	return r.received(e, n, want, whole)
}

// wholeMessage reports whether a receive by the header continues until it has all that it asked for. A receive that
// takes control messages does not: they belong to the part that has come.
func (e *entry) wholeMessage(header *unix.Msghdr) bool {
	return e.OpFlags&unix.MSG_WAITALL != 0 && header.Controllen == 0
}

// checkHeader returns what is wrong with the caller's header of a recvmsg into provided buffers. The header of a
// multishot receive need not stay, so the entry keeps what must be known later: in Off how much room the name and the
// control data have in a buffer, and in Len how long the first message may be.
func (e *entry) checkHeader(multishot bool) unix.Errno {
	header := (*unix.Msghdr)(pointer(&e.Addr))
	switch {
	case header.Iovlen > 1:
		return unix.EINVAL
	case !multishot:
		return 0
	case header.Namelen > math.MaxInt32 || header.Controllen > math.MaxInt32 ||
		int64(header.Namelen)+int64(header.Controllen) > math.MaxInt32-int64(outSize):
		return unix.EOVERFLOW
	}
	e.Off = uint64(header.Namelen) | uint64(uint32(header.Controllen))<<32
	e.Len = 0
	if header.Iovlen != 0 {
		e.Len = uint32(header.Iov.Len)
	}
	return 0
}

// clearHeader writes to the caller's header that there is no message.
func (e *entry) clearHeader() {
	header := (*unix.Msghdr)(pointer(&e.Addr))
	header.Namelen, header.Flags = 0, int32(e.OpFlags&unix.MSG_CMSG_CLOEXEC)
	header.SetControllen(0)
}

// tooSmall reports whether the buffers have no room for what a multishot recvmsg puts before the payload.
func (r *Ring) tooSmall(e *entry) bool {
	g := r.groups.find(e.BufIndex)
	size := g.size
	if e.Len != 0 && e.Len < size {
		size = e.Len
	}
	return uint64(size) < e.before()
}

// outSize is the size of what comes before the name in a buffer of a multishot recvmsg.
const outSize = uint64(unsafe.Sizeof(uring.RecvmsgOut{}))

// recvmsgMultishot makes one recvmsg(2) into a provided buffer, which takes in this order a uring.RecvmsgOut, the name,
// the control data and the payload. On a socket for datagrams it makes one recvmmsg(2) into several buffers.
func (r *Ring) recvmsgMultishot(e *entry) verdict {
	if r.takesBatch(e) {
		return r.recvmmsg(e)
	}
	base, size, ok := r.groups.pick(e)
	if !ok {
		return r.noBuffer(e)
	}
	if uint64(size) < e.before() {
		r.fail(e, unix.EFAULT)
		return completed
	}
	h := &r.tmp.header
	room := e.layOut(h, &r.tmp.iov, base, size)
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(h)), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	if n < 0 {
		return r.receivedNothing(e, n)
	}
	describe(h, base, n)
	e.Len = 0 // what the header says of the payload is for the first message alone
	return r.receivedMessage(e, n, room)
}

// before returns how much of a buffer a multishot recvmsg takes for what comes before the payload.
func (e *entry) before() uint64 { return outSize + e.Off&math.MaxUint32 + e.Off>>32 }

// layOut makes h and iov describe the parts of a buffer. It returns how much room there is for the payload.
func (e *entry) layOut(h *unix.Msghdr, iov *unix.Iovec, base uintptr, size uint32) (room int) {
	name, control := e.Off&math.MaxUint32, e.Off>>32
	*h = unix.Msghdr{Namelen: uint32(name), Iov: iov}
	h.SetIovlen(1)
	h.SetControllen(int(control))
	at := uint64(base) + outSize
	if name != 0 {
		h.Name = (*byte)(pointer(&at))
	}
	if at += name; control != 0 {
		h.Control = (*byte)(pointer(&at))
	}
	at += control
	iov.Base = (*byte)(pointer(&at))
	room = int(uint64(size) - e.before())
	iov.SetLen(room)
	return room
}

// describe writes what was received, a message of n bytes, to the beginning of a buffer.
func describe(h *unix.Msghdr, base uintptr, n int) {
	start := uint64(base)
	*(*uring.RecvmsgOut)(pointer(&start)) = uring.RecvmsgOut{
		Namelen: h.Namelen, Controllen: uint32(h.Controllen), Payloadlen: uint32(n), Flags: uint32(h.Flags),
	}
}

// receivedMessage posts a message of n bytes for which there was that much room. A message of no bytes is the last one
// of a socket with connections, be it EOF or not; datagrams have no EOF.
func (r *Ring) receivedMessage(e *entry, n, room int) verdict {
	before := int(e.before())
	r.spent += before + n
	res, flags := int32(before+min(n, room)), r.drained(e, n < room)|r.groups.use(e)
	if n == 0 && r.files.at(e.Fd).kind != datagrams {
		r.finish(e, res, flags)
		return completed
	}
	r.post(e, res, flags)
	return tryAgain
}
