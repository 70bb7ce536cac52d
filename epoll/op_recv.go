//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// outOfBand are the flags of receives that ordinary readiness says nothing about.
const outOfBand = unix.MSG_ERRQUEUE | unix.MSG_OOB

// undrained are the flags of receives that leave data behind even when they are short.
const undrained = outOfBand | unix.MSG_PEEK

// issueRecv starts a receive. It waits first, because a new receive mostly finds nothing.
func (r *Ring) issueRecv(e *entry) {
	if errno := r.checkRecv(e); errno != 0 {
		r.fail(e, errno)
		return
	}
	f := r.files.at(e.Fd)
	urgent := e.OpFlags&unix.MSG_OOB != 0
	if urgent {
		f.tryInput() // events would never tell that there is no urgent data
	}
	switch {
	case e.OpFlags&unix.MSG_DONTWAIT != 0 && e.Ioprio&uring.RecvsendPollFirst != 0:
		r.fail(e, unix.EAGAIN)
	case e.OpFlags&unix.MSG_DONTWAIT != 0:
		r.attemptNow(e)
	case e.OpFlags&unix.MSG_ERRQUEUE != 0 || urgent && f.kind >= packets:
		if r.tryOutOfBand(e) == wouldBlock {
			r.park(e, watches)
		}
	default:
		r.park(e, waitsForInput)
		r.files.enqueue(e.Fd)
	}
}

// checkRecv returns what is wrong with a receive, and makes sure that its socket is in the epoll set.
func (r *Ring) checkRecv(e *entry) unix.Errno {
	const known = uring.RecvsendPollFirst | uring.RecvMultishot
	multishot, message := e.multishot(), e.Opcode == uring.OpRecvmsg
	switch {
	case e.Ioprio&^known != 0 || e.Off != 0,
		e.FileIndex != 0 && (!multishot || message),
		multishot && (!e.selectsBuffer() || e.OpFlags&unix.MSG_WAITALL != 0):
		return unix.EINVAL
	}
	if message && e.selectsBuffer() {
		if errno := e.checkHeader(multishot); errno != 0 {
			return errno
		}
	}
	verify := multishot && e.FileIndex == 0 // a receive with a limit is one of many
	if errno := r.armSocket(e.Fd, verify); errno != 0 {
		return errno
	}
	switch waitFirst := e.Ioprio&uring.RecvsendPollFirst != 0; {
	case waitFirst || !e.selectsBuffer():
		return 0
	case r.groups.available(e.BufIndex) == nil:
		return unix.ENOBUFS
	case multishot && message && r.tooSmall(e):
		return unix.EFAULT
	}
	return 0
}

// tryOutOfBand makes attempts at a receive that readiness says nothing about. As with the kernel it fails if there is
// something else to receive, or if there never will be anything.
func (r *Ring) tryOutOfBand(e *entry) verdict {
	v := r.attemptAll(e)
	if v != wouldBlock || r.tmp.pollNow(e.Fd, unix.EPOLLRDNORM|unix.POLLRDHUP|unix.POLLPRI) == 0 {
		return v
	}
	r.fail(e, unix.EAGAIN)
	return completed
}

// recv makes one recv(2).
func (r *Ring) recv(e *entry) verdict {
	base, size := uintptr(e.Addr), e.Len
	if e.selectsBuffer() {
		var ok bool
		if base, size, ok = r.groups.pick(e); !ok {
			return r.noBuffer(e)
		}
	}
	want := int(size - e.done)
	n := raw(unix.SYS_RECVFROM, uintptr(e.Fd), base+uintptr(e.done), uintptr(want),
		uintptr(e.OpFlags|unix.MSG_DONTWAIT), 0, 0)
	return r.received(e, n, want, e.OpFlags&unix.MSG_WAITALL != 0)
}

// noBuffer completes a receive for which there is no buffer, if there is something to receive. After a message, a
// multishot receive completes in any case, as the kernel's does, which cannot tell whether there is another message.
func (r *Ring) noBuffer(e *entry) verdict {
	kind := r.files.at(e.Fd).kind
	messages := kind == datagrams || kind == packets
	if !(messages && e.is(postedItem)) && !r.somethingToReceive(e.Fd, kind) {
		return wouldBlock
	}
	r.fail(e, unix.ENOBUFS)
	return completed
}

// somethingToReceive reports whether a receive would find data, EOF or an error. It takes nothing: not even an error,
// which peeking would take. A datagram socket that was shut down is always ready, and has nothing.
func (r *Ring) somethingToReceive(fd int32, kind kind) bool {
	events := r.tmp.pollNow(fd, unix.POLLIN|unix.POLLPRI|unix.POLLRDHUP)
	if kind != datagrams || events&(unix.POLLRDHUP|unix.POLLERR) != unix.POLLRDHUP {
		return events != 0
	}
	return raw(unix.SYS_RECVFROM, uintptr(fd), 0, 0, unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0) != again
}

// received deals with the result of a receive that asked for want bytes. whole says that the receive continues until it
// has them.
func (r *Ring) received(e *entry, n, want int, whole bool) verdict {
	if n <= 0 {
		return r.receivedNothing(e, n)
	}
	r.spent += n
	flags := r.drained(e, n < want)
	switch {
	case whole && n < want && r.files.at(e.Fd).kind >= packets:
		e.done += uint32(n)
		return tryAgain
	case e.multishot() && !e.limitReached(n):
		r.post(e, int32(n), flags|r.groups.use(e))
		return tryAgain
	}
	r.finish(e, int32(e.done)+int32(n), flags|r.groups.use(e))
	return completed
}

// drained records that a receive was short, if that says that nothing is left. Otherwise it returns the flag that tells
// that there may be more.
func (r *Ring) drained(e *entry, short bool) uint32 {
	f := r.files.at(e.Fd)
	switch {
	case !short || f.input == inputSignalled:
		return uring.CQESockNonempty
	case f.kind == tcp && e.OpFlags&undrained == 0:
		f.drainInput()
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

// receivedNothing deals with the result of a receive that got no data: an error, EOF, or nothing yet.
func (r *Ring) receivedNothing(e *entry, n int) verdict {
	f := r.files.at(e.Fd)
	if n == again && r.silentEOF(e, f) {
		n = 0
		if e.Opcode == uring.OpRecvmsg {
			e.clearHeader()
		}
	}
	switch {
	case n == again:
		if e.done == 0 {
			r.groups.drop(e)
		}
		e.flags &^= postedItem
		return wouldBlock
	case n == interrupted:
		return tryAgain
	case n < 0:
		r.fail(e, unix.Errno(-n))
		return completed
	}
	var flags uint32
	if f.kind == tcp {
		flags = uring.CQESockNonempty // as the kernel says of a TCP stream at EOF
	}
	if e.done != 0 {
		flags |= r.groups.use(e)
	}
	r.groups.drop(e)
	r.finish(e, int32(e.done), flags)
	return completed
}

// silentEOF reports whether a datagram socket was shut down. recv(2) says so only if it may wait, which the kernel does
// for a receive that waits and is not multishot.
func (r *Ring) silentEOF(e *entry, f *file) bool {
	if f.kind != datagrams || f.input != inputSignalled && !f.is(receiveShut) {
		return false
	}
	if !f.is(receiveShut) && r.tmp.pollNow(e.Fd, unix.POLLRDHUP)&unix.POLLRDHUP != 0 {
		f.flags |= receiveShut
	}
	return f.is(receiveShut) && e.state.inFlight() && !e.multishot() && e.OpFlags&unix.MSG_ERRQUEUE == 0
}
