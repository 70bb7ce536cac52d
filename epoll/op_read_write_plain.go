package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issuePlain starts a read or a write of a plain file. Writes that wait are made one at a time for each
// descriptor, in order, as the kernel does: they would wait for each other anyway, with a worker each.
func (r *Ring) issuePlain(i uint32) {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	switch {
	case e.Opcode == uring.OpReadMultishot:
		r.fail(i, unix.EBADFD)
	case !r.within(e):
		r.fail(i, unix.EFAULT)
	case e.writes() && f.state&blocked != 0:
		r.park(i, waitingOut)
	case f.state&uncached != 0:
		r.queueDirect(i)
	default:
		r.transfer(i)
	}
}

// trap is the system call that reads or writes.
func (e *entry) trap() uintptr {
	if e.writes() {
		return unix.SYS_PWRITEV2
	}
	return unix.SYS_PREADV2
}

// transfer reads or writes what can be without waiting.
func (r *Ring) transfer(i uint32) {
	e := r.slab.at(i)
	vec, _, ok := r.left(e)
	if !ok {
		r.fail(i, unix.ENOBUFS)
		return
	}
	n := raw(e.trap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(e.Off), uintptr(e.Off>>32), unix.RWF_NOWAIT)
	if n == again || n == unsupported {
		r.delegateRW(i)
		return
	}
	r.transferred(i, n)
}

// delegateRW hands what is left of a read or a write to the pool. It makes sure that this is a plain file
// still: another one could keep a worker waiting for ever.
func (r *Ring) delegateRW(i uint32) {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	if e.at == issued {
		switch errno := r.epollCtl(unix.EPOLL_CTL_ADD, e.Fd, f.gen); errno {
		case unix.EPERM:
		case 0, unix.EEXIST:
			r.epollCtl(unix.EPOLL_CTL_DEL, e.Fd, 0)
			f.state &^= plain
			r.issueRW(i)
			return
		default:
			r.fail(i, errno)
			return
		}
	}
	vec, ok := r.ownVector(i)
	if !ok {
		r.fail(i, unix.ENOBUFS)
		return
	}
	if e.writes() && f.state&uncached == 0 {
		e.mark |= writing
		f.state |= blocked
	}
	r.delegate(i, pooled, e.trap(), uintptr(e.Fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)),
		uintptr(e.Off), uintptr(e.Off>>32), 0)
}

// ownVector is what is left to be moved, in memory of the entry's own. It reports false if there is no provided
// buffer.
func (r *Ring) ownVector(i uint32) (vec []vector, ok bool) {
	e := r.slab.at(i)
	if e.msg == 0 {
		if vec, _, ok = r.left(e); !ok {
			return nil, false
		}
		m := r.messageOf(i)
		m.vec = append(m.vec[:0], vec...)
	}
	return r.messages[e.msg].vec, true
}

// transferred judges what the system call returned: on the loop, or in the pool.
func (r *Ring) transferred(i uint32, n int) {
	e := r.slab.at(i)
	f := r.files.at(e.Fd)
	here := e.at != pooled
	if n < 0 {
		switch {
		case n == interrupted:
		case n == illegalSeek && e.Off != uring.FilePosition:
			e.Off = uring.FilePosition // it has none
		case n == -int(unix.EINVAL) && !opened(e.Fd, e.writes()):
			r.failPlain(i, unix.EBADF) // which preadv2(2) looks at after the offset
			return
		default:
			r.failPlain(i, unix.Errno(-n))
			return
		}
		r.goOn(i, here)
		return
	}
	_, size, _ := r.left(e)
	if n > 0 && n < size && f.state&whole != 0 && (here || e.writes()) {
		r.moved(e, n)
		r.goOn(i, here)
		return
	}
	r.finish(i, int32(e.done)+int32(n), r.useBuffer(e))
}

func (r *Ring) goOn(i uint32, here bool) {
	if here {
		r.transfer(i)
	} else {
		r.delegateRW(i)
	}
}

// failPlain is fail for an entry that was tried. As with the kernel's ring, a plain file uses a provided buffer
// up even so.
func (r *Ring) failPlain(i uint32, errno unix.Errno) {
	e := r.slab.at(i)
	if e.done != 0 || e.Flags&uring.SQEBufferSelect == 0 {
		r.fail(i, errno)
	} else if _, _, ok := r.left(e); !ok {
		r.fail(i, unix.ENOBUFS)
	} else {
		r.finish(i, -int32(errno), r.useBuffer(e))
	}
}

// written lets the next write of a plain file begin.
func (r *Ring) written(e *entry) {
	e.mark &^= writing
	r.files.at(e.Fd).state &^= blocked
	r.enqueue(e.Fd)
}
