package epoll

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// resolveCached fails with EAGAIN what needs the disk: RESOLVE_CACHED of openat2(2).
const resolveCached = 0x20

// issueOpen opens a file. As with the kernel's ring this does not wait for the other end of a FIFO: the file is
// opened with O_NONBLOCK, which is cleared again. A path that is in the kernel's cache needs no worker.
func (r *Ring) issueOpen(i uint32) {
	e := r.slab.at(i)
	errno := e.badPath()
	if errno == 0 || errno == unix.EBADF {
		if bad := r.takeHow(i); bad != 0 {
			errno = bad
		}
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	path, _, errno := r.takePaths(i, e.Addr, 0)
	how := &r.messages[e.msg].how
	switch {
	case errno != 0:
	case e.FileIndex != 0 && how.Flags&unix.O_CLOEXEC != 0:
		errno = unix.EINVAL
	case e.FileIndex != 0:
		errno = unix.ENXIO // there are no registered files
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	if how.Flags&unix.O_PATH == 0 {
		how.Flags |= unix.O_LARGEFILE
	}
	if how.Flags&(unix.O_PATH|unix.O_NONBLOCK) == 0 {
		how.Flags |= unix.O_NONBLOCK
		e.mark |= unasked
	}
	const disk = unix.O_CREAT | unix.O_TRUNC | unix.O_TMPFILE&^unix.O_DIRECTORY
	if e.Flags&uring.SQEAsync == 0 && how.Flags&disk == 0 {
		r.tmp.how = *how
		r.tmp.how.Resolve |= resolveCached
		if e.Opcode == uring.OpOpenat {
			r.tmp.how.Mode = 0 // it means nothing, and openat2(2) would not have it
		}
		n := raw(unix.SYS_OPENAT2, uintptr(e.Fd), path, uintptr(unsafe.Pointer(&r.tmp.how)), unix.SizeofOpenHow, 0, 0)
		if n >= 0 {
			r.opened(i, n)
			return
		}
	}
	r.delegateOpen(i)
}

// takeHow puts into the entry's message how it is to be opened.
func (r *Ring) takeHow(i uint32) unix.Errno {
	e := r.slab.at(i)
	m := r.messageOf(i)
	if e.Opcode == uring.OpOpenat {
		m.how = unix.OpenHow{Flags: uint64(e.OpFlags), Mode: uint64(e.Len)}
		return 0
	}
	if e.Len < unix.SizeofOpenHow {
		return unix.EINVAL
	}
	var more [64]byte // of a later version
	extra := int(e.Len - unix.SizeofOpenHow)
	switch {
	case extra > len(more):
		return unix.E2BIG
	case !copyIn(unsafe.Slice((*byte)(unsafe.Pointer(&m.how)), unix.SizeofOpenHow), e.Off),
		!copyIn(more[:extra], e.Off+unix.SizeofOpenHow):
		return unix.EFAULT
	case more != [len(more)]byte{}:
		return unix.E2BIG
	}
	return 0
}

func (r *Ring) delegateOpen(i uint32) {
	e := r.slab.at(i)
	m := r.messages[e.msg]
	path := uintptr(unsafe.Pointer(unsafe.SliceData(m.text)))
	if e.Opcode == uring.OpOpenat {
		r.delegate(i, unfiled, unix.SYS_OPENAT, uintptr(e.Fd), path, uintptr(m.how.Flags), uintptr(m.how.Mode), 0, 0)
		return
	}
	r.delegate(i, unfiled, unix.SYS_OPENAT2, uintptr(e.Fd), path, uintptr(unsafe.Pointer(&m.how)), unix.SizeofOpenHow, 0, 0)
}

// opened takes note of the descriptor. EAGAIN with an O_NONBLOCK that nobody asked for says that there is
// something to wait for after all: a lease, which the kernel ends after a while.
func (r *Ring) opened(i uint32, n int) {
	e := r.slab.at(i)
	how := &r.messages[e.msg].how
	unblock := e.mark&unasked != 0
	e.mark &^= unasked
	switch {
	case n == again && unblock && how.Resolve&resolveCached == 0:
		how.Flags &^= unix.O_NONBLOCK
		r.delegateOpen(i)
		return
	case n >= 0:
		if unblock {
			const settable = unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_NOATIME
			raw(unix.SYS_FCNTL, uintptr(n), unix.F_SETFL, uintptr(how.Flags&settable), 0, 0, 0)
		}
		r.adopt(int32(n), 0)
	}
	r.finishRaw(i, n)
}

// closeOpened closes what the pool has opened and nobody will hear of.
func (r *Ring) closeOpened() (errs []error) {
	for _, res := range r.pool.collect(nil) {
		if op := r.slab.at(res.entry).Opcode; res.n >= 0 && (op == uring.OpOpenat || op == uring.OpOpenat2) {
			errs = append(errs, os.NewSyscallError("close", unix.Close(res.n)))
		}
	}
	return errs
}
