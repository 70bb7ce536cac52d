//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issuePlain starts a read or a write of a plain file. Writes that wait are made one at a time for each descriptor, in
// order, as the kernel does: they would wait for each other anyway, each with a worker.
func (r *Ring) issuePlain(e *entry) {
	f := r.files.at(e.Fd)
	switch {
	case e.Opcode == uring.OpReadMultishot:
		r.fail(e, unix.EBADFD)
	case !r.fixed.holds(e):
		r.fail(e, unix.EFAULT)
	case e.writes() && f.output == outputWriting:
		r.park(e, waitsForOutput)
	case f.is(unbuffered):
		r.queueDirect(e)
	default:
		r.transfer(e)
	}
}

// transfer reads or writes what can be moved without waiting.
func (r *Ring) transfer(e *entry) {
	vec, _, ok := r.remaining(e)
	if !ok {
		r.fail(e, unix.ENOBUFS)
		return
	}
	n := raw(e.transferTrap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(e.Off), uintptr(e.Off>>32), unix.RWF_NOWAIT)
	if n == again || n == unsupported {
		r.delegateTransfer(e)
		return
	}
	r.transferred(e, n)
}

// delegateTransfer hands the rest of a read or a write to the pool.
func (r *Ring) delegateTransfer(e *entry) {
	f := r.files.at(e.Fd)
	if e.state == issued {
		// Make sure that this still is a plain file: another one could make a worker wait without a limit.
		switch errno := r.poller.ctl(unix.EPOLL_CTL_ADD, e.Fd, f.generation); errno {
		case unix.EPERM:
		case 0, unix.EEXIST:
			r.poller.ctl(unix.EPOLL_CTL_DEL, e.Fd, 0)
			f.phase = unknown
			r.issueReadWrite(e)
			return
		default:
			r.fail(e, errno)
			return
		}
	}
	vec, ok := r.ownVector(e)
	if !ok {
		r.fail(e, unix.ENOBUFS)
		return
	}
	if e.writes() && !f.is(unbuffered) {
		e.flags |= writesPlain
		f.beginWrite()
	}
	r.delegate(e, e.transferTrap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(e.Off), uintptr(e.Off>>32), 0)
}

// transferred deals with the result of the system call, which was made on the loop or in the pool.
func (r *Ring) transferred(e *entry, n int) {
	inPool := e.state == pooled
	_, size, _ := r.remaining(e)
	switch {
	case n == interrupted:
		r.continueTransfer(e)
	case n == illegalSeek && e.Off != uring.FilePosition:
		e.Off = uring.FilePosition // the file has no offsets
		r.continueTransfer(e)
	case n == -int(unix.EINVAL) && !opened(e.Fd, e.writes()):
		r.failPlain(e, unix.EBADF) // which preadv2(2) checks after the offset
	case n < 0:
		r.failPlain(e, unix.Errno(-n))
	case n > 0 && n < size && r.files.at(e.Fd).is(wholeTransfers) && (!inPool || e.writes()):
		r.moved(e, n)
		r.continueTransfer(e)
	default:
		r.finish(e, int32(e.done)+int32(n), r.groups.use(e))
	}
}

// continueTransfer moves the rest, in the same place as before.
func (r *Ring) continueTransfer(e *entry) {
	if e.state == pooled {
		r.delegateTransfer(e)
	} else {
		r.transfer(e)
	}
}

// failPlain fails an entry that was attempted. As with the kernel's ring, a plain file uses a provided buffer up even
// then.
func (r *Ring) failPlain(e *entry, errno unix.Errno) {
	if e.done != 0 || !e.selectsBuffer() {
		r.fail(e, errno)
	} else if _, _, ok := r.remaining(e); !ok {
		r.fail(e, unix.ENOBUFS)
	} else {
		r.finish(e, -int32(errno), r.groups.use(e))
	}
}

// endWrite lets the next write of a plain file begin.
func (r *Ring) endWrite(e *entry) {
	e.flags &^= writesPlain
	r.files.at(e.Fd).endWrite()
	r.files.enqueue(e.Fd)
}
