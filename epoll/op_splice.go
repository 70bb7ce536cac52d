package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const spliceFlags = unix.SPLICE_F_MOVE | unix.SPLICE_F_NONBLOCK | unix.SPLICE_F_MORE

// issueSplice starts a splice or a tee: from the descriptor FileIndex, the source, to Fd. It never waits in
// the system call: when that finds nothing to do, the entry waits for the readiness of one end, in the lists
// of that, and is tried again.
func (r *Ring) issueSplice(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0, e.OpFlags&^spliceFlags != 0, e.Opcode == uring.OpTee && (e.Off != 0 || e.Addr != 0):
		r.fail(i, unix.EINVAL)
		return
	}
	slow := false
	for _, fd := range [...]int32{e.Fd, e.FileIndex} {
		switch errno := r.arm(fd, false); errno {
		case 0:
			r.setNonblock(fd)
		case unix.EPERM:
			r.known(fd)
			slow = true
		default:
			r.fail(i, errno)
			return
		}
	}
	switch {
	case e.Len == 0:
		r.finish(i, 0, 0)
	case slow:
		r.delegateSplice(i)
	default:
		r.splice(i)
	}
}

// splice is one splice(2) or tee(2) between descriptors that can be waited for.
func (r *Ring) splice(i uint32) {
	e := r.slab.at(i)
	e.BufIndex = 0
	trap, a, b, c, d, size, flags := r.spliceArgs(i)
	r.spliced(i, raw(trap, a, b, c, d, size, flags))
}

// spliceArgs are the arguments of the system call. The offsets, which it may write to, are put into the
// entry's message.
func (r *Ring) spliceArgs(i uint32) (trap, a, b, c, d, size, flags uintptr) {
	e := r.slab.at(i)
	size, flags = uintptr(e.Len), uintptr(e.OpFlags|unix.SPLICE_F_NONBLOCK)
	if e.Opcode == uring.OpTee {
		return unix.SYS_TEE, uintptr(e.FileIndex), uintptr(e.Fd), size, flags, 0, 0
	}
	m := r.messageOf(i)
	m.off = [2]uint64{e.Addr, e.Off}
	var from, to uintptr
	if e.Addr != uring.FilePosition {
		from = uintptr(unsafe.Pointer(&m.off[0]))
	}
	if e.Off != uring.FilePosition {
		to = uintptr(unsafe.Pointer(&m.off[1]))
	}
	return unix.SYS_SPLICE, uintptr(e.FileIndex), from, uintptr(e.Fd), to, size, flags
}

// delegateSplice makes the system call in the pool, for one end is a plain file.
func (r *Ring) delegateSplice(i uint32) {
	e := r.slab.at(i)
	trap, a, b, c, d, size, flags := r.spliceArgs(i)
	r.rehost(i, pooled, e.mark&^onSource)
	r.pool.submit(i, trap, [6]uintptr{a, b, c, d, size, flags})
}

// spliced judges the result of the system call.
func (r *Ring) spliced(i uint32, n int) {
	e := r.slab.at(i)
	switch {
	case n == interrupted:
		r.spliceAgain(i)
		return
	case n == illegalSeek && (!opened(e.FileIndex, false) || !opened(e.Fd, true)):
		r.fail(i, unix.EBADF) // which splice(2) looks at later
		return
	case n != again:
		r.finishRaw(i, n)
		return
	}
	const in, out = unix.POLLIN | unix.POLLRDHUP, unix.POLLOUT
	switch {
	case r.canWait(e.FileIndex) && r.events(e.FileIndex, in) == 0:
		r.awaitEnd(i, e.FileIndex, waitingIn, e.mark|onSource)
	case r.canWait(e.Fd) && r.events(e.Fd, out) == 0:
		r.awaitEnd(i, e.Fd, waitingOut, e.mark&^onSource)
	default:
		r.spliceAgain(i) // it has become ready meanwhile
	}
}

// awaitEnd makes a splice wait for one end. With SPLICE_F_NONBLOCK the end that is not ready ends it instead,
// unless it is one for which the kernel has no regard to the flag: a socket, or as the source a TCP socket.
func (r *Ring) awaitEnd(i uint32, fd int32, at place, m mark) {
	e := r.slab.at(i)
	f := r.files.at(fd)
	heeds := f.kind == other || at == waitingIn && f.kind != tcp
	if e.OpFlags&unix.SPLICE_F_NONBLOCK != 0 && heeds {
		r.fail(i, unix.EAGAIN)
		return
	}
	if at == waitingIn {
		f.state &^= readable | eager
	} else {
		f.state |= blocked
	}
	r.rehost(i, at, m)
}

// canWait reports whether fd is in the epoll set.
func (r *Ring) canWait(fd int32) bool { return r.files.at(fd).state&registered != 0 }

// rehost puts a splice into a list of one of its ends.
func (r *Ring) rehost(i uint32, at place, m mark) {
	e := r.slab.at(i)
	if e.at == issued {
		e.mark = m
		r.park(i, at)
	} else {
		r.unlink(r.listOf(e), i)
		e.at, e.mark = at, m
		r.append(r.listOf(e), i)
	}
}

// spliceAgain makes another attempt at a splice.
func (r *Ring) spliceAgain(i uint32) {
	e := r.slab.at(i)
	if r.canWait(e.Fd) && r.canWait(e.FileIndex) {
		r.splice(i)
	} else {
		r.delegateSplice(i)
	}
}

// abandonGuests is abandon for them.
func (r *Ring) abandonGuests(fd int32) {
	for i := uint32(1); i <= r.used; i++ {
		if e := r.slab.at(i); e.at.inFlight() && e.mark&onSource != 0 && e.Fd == fd {
			r.fail(i, unix.ECANCELED)
		}
	}
}
