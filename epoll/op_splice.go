//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const spliceFlags = unix.SPLICE_F_MOVE | unix.SPLICE_F_NONBLOCK | unix.SPLICE_F_MORE

// issueSplice starts a splice or a tee: from the descriptor FileIndex, the source, to Fd. It never waits in the system
// call. If that finds nothing to do, the entry waits for the readiness of one of the two descriptors, in a list of that
// one, and is tried again.
func (r *Ring) issueSplice(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0, e.OpFlags&^spliceFlags != 0, e.Opcode == uring.OpTee && (e.Off != 0 || e.Addr != 0):
		r.fail(e, unix.EINVAL)
		return
	}
	for _, fd := range [...]int32{e.Fd, e.FileIndex} {
		switch errno := r.arm(fd, false); errno {
		case 0:
			r.setNonblock(fd)
		case unix.EPERM:
			r.files.make(fd)
		default:
			r.fail(e, errno)
			return
		}
	}
	if e.Len == 0 {
		r.finish(e, 0, 0)
		return
	}
	r.retrySplice(e)
}

// retrySplice makes an attempt at a splice: on the loop if both descriptors can be waited for, or else in the pool.
func (r *Ring) retrySplice(e *entry) {
	trap, a := r.spliceCall(e)
	if !r.canWait(e.Fd) || !r.canWait(e.FileIndex) {
		r.delegate(e, trap, a[0], a[1], a[2], a[3], a[4], a[5])
		return
	}
	for r.spliced(e, raw(trap, a[0], a[1], a[2], a[3], a[4], a[5])) == tryAgain {
		trap, a = r.spliceCall(e)
	}
}

// canWait reports whether fd is in the epoll set.
func (r *Ring) canWait(fd int32) bool { return r.files.at(fd).phase == polled }

// spliceCall returns the system call and its arguments. It may write to the offsets, which are put into the entry's
// message.
func (r *Ring) spliceCall(e *entry) (trap uintptr, args [6]uintptr) {
	from, to := uintptr(e.FileIndex), uintptr(e.Fd)
	size, flags := uintptr(e.Len), uintptr(e.OpFlags|unix.SPLICE_F_NONBLOCK)
	if e.Opcode == uring.OpTee {
		return unix.SYS_TEE, [6]uintptr{from, to, size, flags}
	}
	m := r.messages.of(e)
	m.off = [2]uint64{e.Addr, e.Off}
	var fromOff, toOff uintptr
	if e.Addr != uring.FilePosition {
		fromOff = uintptr(unsafe.Pointer(&m.off[0]))
	}
	if e.Off != uring.FilePosition {
		toOff = uintptr(unsafe.Pointer(&m.off[1]))
	}
	return unix.SYS_SPLICE, [6]uintptr{from, fromOff, to, toOff, size, flags}
}

// spliced deals with the result of the system call. If it found nothing to do although both descriptors are ready, they
// may have become ready meanwhile; if the next attempt says the same, there are bytes that splice(2) does not move,
// such as urgent data, or no memory: the entry fails with EAGAIN, as the kernel's does on a non-blocking descriptor.
func (r *Ring) spliced(e *entry, n int) verdict {
	const in, out = unix.POLLIN | unix.POLLRDHUP, unix.POLLOUT
	switch {
	case n == interrupted:
		return tryAgain
	case n == illegalSeek && (!opened(e.FileIndex, false) || !opened(e.Fd, true)):
		r.fail(e, unix.EBADF) // which splice(2) checks later
	case n != again:
		r.finishCall(e, n)
	case r.canWait(e.FileIndex) && r.tmp.pollNow(e.FileIndex, in) == 0:
		r.awaitSource(e)
	case r.canWait(e.Fd) && r.tmp.pollNow(e.Fd, out) == 0:
		r.awaitSink(e)
	case e.is(splicedInVain):
		r.fail(e, unix.EAGAIN)
	default:
		e.flags |= splicedInVain
		return tryAgain
	}
	return completed
}

// awaitSource makes a splice wait for data. With SPLICE_F_NONBLOCK it completes with EAGAIN instead, except that the
// kernel ignores the flag for a TCP socket.
func (r *Ring) awaitSource(e *entry) {
	f := r.files.at(e.FileIndex)
	if e.OpFlags&unix.SPLICE_F_NONBLOCK != 0 && f.kind != tcp {
		r.fail(e, unix.EAGAIN)
		return
	}
	f.clearInput()
	r.await(e, waitsForInput, onSource)
}

// awaitSink makes a splice wait for room. With SPLICE_F_NONBLOCK it completes with EAGAIN instead, except that the
// kernel ignores the flag for a socket.
func (r *Ring) awaitSink(e *entry) {
	f := r.files.at(e.Fd)
	if e.OpFlags&unix.SPLICE_F_NONBLOCK != 0 && f.kind == other {
		r.fail(e, unix.EAGAIN)
		return
	}
	f.fillOutput()
	r.await(e, waitsForOutput, 0)
}

// await puts a splice into a list of one of its descriptors, whether it is in flight already or not.
func (r *Ring) await(e *entry, s entryState, where entryFlags) {
	e.flags &^= splicedInVain
	if e.state == issued {
		e.flags |= where
		r.park(e, s)
	} else {
		r.move(e, s, where)
	}
}

// abandonSplices completes the splices to a descriptor that wait in a list of their source. Only misuse of Forget makes
// it necessary, so it may go through all entries.
func (r *Ring) abandonSplices(fd int32) {
	for i := uint32(1); i <= r.entries.used; i++ {
		if e := r.entries.at(i); e.state.inFlight() && e.is(onSource) && e.Fd == fd {
			r.fail(e, unix.ECANCELED)
		}
	}
}
