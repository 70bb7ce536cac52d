package epoll

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// recvmsg is one recvmsg(2). It goes by the caller's header as long as nothing in that has to change.
func (r *Ring) recvmsg(i uint32) verdict {
	e := r.slab.at(i)
	switch {
	case e.Ioprio&uring.RecvMultishot != 0:
		return r.recvmsgMultishot(i)
	case e.msg != 0 || e.Flags&uring.SQEBufferSelect != 0:
		return r.recvmsgCopy(i)
	}
	header := (*unix.Msghdr)(pointer(&e.Addr))
	want, whole := messageLen(header), e.wholeMessage(header)
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	v := r.received(i, n, want, whole)
	if v == progress && n > 0 {
		r.copyMessage(i, header).advance(n)
	}
	return v
}

// recvmsgCopy is recvmsg(2) by a private copy of the header: into a provided buffer, or the rest of a
// message of which a part has come.
func (r *Ring) recvmsgCopy(i uint32) verdict {
	e := r.slab.at(i)
	header := (*unix.Msghdr)(pointer(&e.Addr))
	var m *message
	if e.Flags&uring.SQEBufferSelect != 0 {
		e.Len = uint32(messageLen(header))
		base, size, ok := r.pick(e)
		if !ok {
			return r.noBuffer(i)
		}
		m = r.copyMessage(i, header)
		m.aim(base+uintptr(e.done), size-e.done)
	} else {
		m = r.messages[e.msg]
	}
	want, whole := messageLen(&m.header), e.wholeMessage(&m.header)
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(&m.header)), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	if n >= 0 {
		header.Namelen, header.Flags = m.header.Namelen, m.header.Flags
		header.SetControllen(int(m.header.Controllen))
	}
	if n > 0 && n < want {
		m.advance(n)
	}
	return r.received(i, n, want, whole)
}

// wholeMessage reports whether a receive by the header goes on until it has all it asked for. One that
// takes control messages does not: they belong to the part that has come.
func (e *entry) wholeMessage(header *unix.Msghdr) bool {
	return e.OpFlags&unix.MSG_WAITALL != 0 && header.Controllen == 0
}

// checkHeader says what is wrong with the caller's header of a recvmsg into provided buffers. Of a multishot
// one the header need not stay, so it takes what has to be known later: how much room the name and the control
// data have in a buffer, and how long the first message may be.
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

// noMessage writes to the caller's header that there is no message any more.
func (e *entry) noMessage() {
	header := (*unix.Msghdr)(pointer(&e.Addr))
	header.Namelen, header.Flags = 0, int32(e.OpFlags&unix.MSG_CMSG_CLOEXEC)
	header.SetControllen(0)
}

// tooSmall reports whether the buffers have no room for what a multishot recvmsg puts before the payload.
func (r *Ring) tooSmall(e *entry) bool {
	g := r.group(e.BufIndex)
	size := g.size
	if e.Len != 0 && e.Len < size {
		size = e.Len
	}
	return uint64(size) < outSize+e.Off&math.MaxUint32+e.Off>>32
}

// outSize is the size of what comes before the name in the buffer of a multishot recvmsg.
const outSize = uint64(unsafe.Sizeof(uring.RecvmsgOut{}))

// recvmsgMultishot is one recvmsg(2) into a provided buffer, which takes in this order a uring.RecvmsgOut,
// the name, the control data and the payload.
func (r *Ring) recvmsgMultishot(i uint32) verdict {
	e := r.slab.at(i)
	base, size, ok := r.pick(e)
	if !ok {
		return r.noBuffer(i)
	}
	name, control := e.Off&math.MaxUint32, e.Off>>32
	before := outSize + name + control
	if uint64(size) < before {
		r.fail(i, unix.EFAULT)
		return finished
	}
	h, iov := &r.tmp.header, &r.tmp.iov
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
	iov.SetLen(int(uint64(size) - before))
	n := raw(unix.SYS_RECVMSG, uintptr(e.Fd), uintptr(unsafe.Pointer(h)), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0, 0)
	if n < 0 {
		return r.receivedNone(i, n)
	}
	start := uint64(base)
	*(*uring.RecvmsgOut)(pointer(&start)) = uring.RecvmsgOut{
		Namelen: h.Namelen, Controllen: uint32(h.Controllen), Payloadlen: uint32(n), Flags: uint32(h.Flags),
	}
	e.Len = 0 // what the header said of the payload goes for the first message alone
	return r.receivedMessage(i, n, int(before), int(uint64(size)-before))
}

// receivedMessage posts a message of n bytes for which there was room for want, behind others in the buffer.
// One of no bytes is the last, whether it is the end or not.
func (r *Ring) receivedMessage(i uint32, n, before, want int) verdict {
	r.spent += before + n
	e := r.slab.at(i)
	res, flags := int32(before+min(n, want)), r.drained(e, n < want)|r.useBuffer(e)
	if n == 0 {
		r.finish(i, res, flags)
		return finished
	}
	r.post(i, res, flags)
	return progress
}
