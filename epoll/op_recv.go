package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// outOfBand are the receives that ordinary readiness says nothing about.
const outOfBand = unix.MSG_ERRQUEUE | unix.MSG_OOB

// undrained are the receives that leave data behind even when they are short.
const undrained = outOfBand | unix.MSG_PEEK

// issueRecv starts a receive. It waits first: a fresh receive mostly finds nothing.
func (r *Ring) issueRecv(i uint32) {
	e := r.slab.at(i)
	if badRecv(e) {
		r.fail(i, unix.EINVAL)
		return
	}
	multishot := e.Ioprio&uring.RecvMultishot != 0
	if e.Opcode == uring.OpRecvmsg && e.Flags&uring.SQEBufferSelect != 0 {
		if errno := e.checkHeader(multishot); errno != 0 {
			r.fail(i, errno)
			return
		}
	}
	verify := multishot && e.FileIndex == 0 // with a limit it is one of many
	if errno := r.armSocket(e.Fd, verify); errno != 0 {
		r.fail(i, errno)
		return
	}
	f := r.files.at(e.Fd)
	if e.OpFlags&unix.MSG_OOB != 0 {
		f.state |= readable // events would never tell that there is no urgent data
	}
	switch {
	case e.Flags&uring.SQEBufferSelect != 0 && e.Ioprio&uring.RecvsendPollFirst == 0 && r.provided(e.BufIndex) == nil:
		r.fail(i, unix.ENOBUFS)
	case multishot && e.Opcode == uring.OpRecvmsg && e.Ioprio&uring.RecvsendPollFirst == 0 && r.tooSmall(e):
		r.fail(i, unix.EFAULT)
	case e.OpFlags&unix.MSG_DONTWAIT != 0:
		r.now(i, e.Ioprio&uring.RecvsendPollFirst != 0)
	case e.OpFlags&unix.MSG_ERRQUEUE != 0, e.OpFlags&unix.MSG_OOB != 0 && f.kind >= packets:
		if r.tryOutOfBand(i) == wouldBlock {
			r.park(i, watching)
		}
	default:
		r.park(i, waitingIn)
		r.enqueue(r.slab.at(i).Fd)
	}
}

func badRecv(e *entry) bool {
	const known = uring.RecvsendPollFirst | uring.RecvMultishot
	if e.Ioprio&^known != 0 || e.Off != 0 || e.FileIndex != 0 && e.Ioprio&uring.RecvMultishot == 0 {
		return true
	}
	return e.Ioprio&uring.RecvMultishot != 0 &&
		(e.Flags&uring.SQEBufferSelect == 0 || e.OpFlags&unix.MSG_WAITALL != 0 || e.Opcode == uring.OpRecvmsg && e.FileIndex != 0)
}

// until makes attempts until the entry has finished or cannot go on.
func (r *Ring) until(i uint32) verdict {
	for {
		if v := r.attempt(i); v != progress {
			return v
		}
	}
}

// tryOutOfBand makes attempts at a receive that readiness says nothing about. As with the kernel it fails when
// there is something else to be had, or nothing any more.
func (r *Ring) tryOutOfBand(i uint32) verdict {
	v := r.until(i)
	if v != wouldBlock {
		return v
	}
	e := r.slab.at(i)
	if r.events(e.Fd, unix.EPOLLRDNORM|unix.POLLRDHUP|unix.POLLPRI) == 0 {
		return wouldBlock
	}
	r.fail(i, unix.EAGAIN)
	return finished
}

// now finishes an entry that must not wait. One that asks to poll first cannot be done without; one that wants the
// whole has a part and does not look for more.
func (r *Ring) now(i uint32, pollFirst bool) {
	v := progress
	for !pollFirst && v == progress && r.slab.at(i).done == 0 {
		v = r.attempt(i)
	}
	if v != finished {
		r.fail(i, unix.EAGAIN)
	}
}

// recv is one recv(2).
func (r *Ring) recv(i uint32) verdict {
	e := r.slab.at(i)
	base, size := uintptr(e.Addr), e.Len
	if e.Flags&uring.SQEBufferSelect != 0 {
		var ok bool
		if base, size, ok = r.pick(e); !ok {
			return r.noBuffer(i)
		}
	}
	want := int(size - e.done)
	n := raw(unix.SYS_RECVFROM, uintptr(e.Fd), base+uintptr(e.done), uintptr(want), uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0)
	return r.received(i, n, want, e.OpFlags&unix.MSG_WAITALL != 0)
}

// noBuffer ends a receive for which there is no buffer, if there is something to receive. After a message, a
// multishot receive ends in any case, as the kernel's does, which cannot tell whether there is another one.
func (r *Ring) noBuffer(i uint32) verdict {
	e := r.slab.at(i)
	kind := r.files.at(e.Fd).kind
	blind := e.mark&posted != 0 && (kind == datagrams || kind == packets)
	if !blind && !r.something(e.Fd, kind) {
		return wouldBlock
	}
	r.fail(i, unix.ENOBUFS)
	return finished
}

// something reports whether there is something to receive, be it an end or an error. Without taking anything: not
// even an error, which peeking would. A socket for datagrams that was shut down is for ever ready, and has nothing.
func (r *Ring) something(fd int32, kind kind) bool {
	const in = unix.POLLIN | unix.POLLPRI | unix.POLLRDHUP
	events := r.events(fd, in)
	if kind != datagrams || events&(unix.POLLRDHUP|unix.POLLERR) != unix.POLLRDHUP {
		return events != 0
	}
	return raw(unix.SYS_RECVFROM, uintptr(fd), 0, 0, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0) != again
}

// received judges the result of a receive that asked for want bytes; whole says that it is to go on
// until it has them.
func (r *Ring) received(i uint32, n, want int, whole bool) verdict {
	if n <= 0 {
		return r.receivedNone(i, n)
	}
	r.spent += n
	e := r.slab.at(i)
	flags := r.drained(e, n < want)
	if whole && n < want {
		if r.files.at(e.Fd).kind >= packets {
			e.done += uint32(n)
			return progress
		}
	}
	flags |= r.useBuffer(e)
	if e.Ioprio&uring.RecvMultishot != 0 && !e.limitReached(n) {
		r.post(i, int32(n), flags)
		return progress
	}
	r.finish(i, int32(e.done)+int32(n), flags)
	return finished
}

// drained notes that a receive was short, if that says that there is nothing left; or says, by a flag of the
// completion, that there may be.
func (r *Ring) drained(e *entry, short bool) uint32 {
	f := r.files.at(e.Fd)
	switch {
	case !short || f.state&eager != 0:
		return uring.CQESockNonempty
	case f.kind == tcp && e.OpFlags&undrained == 0:
		f.state &^= readable
	}
	return 0
}

// limitReached counts n bytes towards the limit of a multishot receive, if it has one.
func (e *entry) limitReached(n int) bool {
	switch {
	case e.FileIndex == 0:
		return false
	case uint32(n) >= uint32(e.FileIndex):
		return true
	}
	e.FileIndex -= int32(n)
	return false
}

// receivedNone judges the result of a receive that got no data: an error, the end, or nothing yet.
func (r *Ring) receivedNone(i uint32, n int) verdict {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	if n == again && r.silentEnd(e, f) {
		n = 0
		if e.Opcode == uring.OpRecvmsg {
			e.noMessage()
		}
	}
	switch {
	case n == again:
		if e.done == 0 {
			r.dropBuffer(e)
		}
		e.mark &^= posted
		return wouldBlock
	case n == interrupted:
		return progress
	case n < 0:
		r.fail(i, unix.Errno(-n))
		return finished
	}
	var flags uint32
	if f.kind == tcp {
		flags = uring.CQESockNonempty // as the kernel says of a TCP stream at its end
	}
	if e.done != 0 {
		flags |= r.useBuffer(e)
	}
	r.dropBuffer(e)
	r.finish(i, int32(e.done), flags)
	return finished
}

// silentEnd reports whether a socket for datagrams was shut down: recv(2) says so only when it may wait,
// which the kernel does for a receive that waits and is not multishot.
func (r *Ring) silentEnd(e *entry, f *file) bool {
	if f.kind != datagrams || f.state&(eager|shut) == 0 {
		return false
	}
	if f.state&shut == 0 && r.events(e.Fd, unix.POLLRDHUP)&unix.POLLRDHUP != 0 {
		f.state |= shut
	}
	return f.state&shut != 0 && e.at.inFlight() && e.Ioprio&uring.RecvMultishot == 0 && e.OpFlags&unix.MSG_ERRQUEUE == 0
}
