//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// resolveCached is RESOLVE_CACHED of openat2(2): EAGAIN for a path that needs the disk.
const resolveCached = 0x20

// issueOpen opens a file. As with the kernel's ring this does not wait for the other end of a FIFO: the file is opened
// with O_NONBLOCK, which is then cleared. A path that is in the kernel's cache needs no worker.
func (r *Ring) issueOpen(e *entry) {
	errno := e.checkPath()
	var path uintptr
	if errno == 0 {
		path, _, errno = r.takePaths(e)
	}
	switch {
	case errno != 0:
	case e.FileIndex != 0 && e.OpFlags&unix.O_CLOEXEC != 0:
		errno = unix.EINVAL
	case e.FileIndex != 0:
		errno = unix.ENXIO // there are no registered files
	}
	if errno != 0 {
		r.fail(e, errno)
		return
	}
	if e.OpFlags&unix.O_PATH == 0 {
		e.OpFlags |= unix.O_LARGEFILE
	}
	if e.OpFlags&(unix.O_PATH|unix.O_NONBLOCK) == 0 {
		e.OpFlags |= unix.O_NONBLOCK
		e.flags |= addedNonblock
	}
	const disk = unix.O_CREAT | unix.O_TRUNC | unix.O_TMPFILE&^unix.O_DIRECTORY
	if e.OpFlags&disk == 0 { // so the mode means nothing, and openat2(2) refuses any
		r.tmp.how = unix.OpenHow{Flags: uint64(e.OpFlags), Resolve: resolveCached}
		n := raw(unix.SYS_OPENAT2, uintptr(e.Fd), path, uintptr(unsafe.Pointer(&r.tmp.how)), unix.SizeofOpenHow, 0, 0)
		if n >= 0 {
			r.opened(e, n)
			return
		}
	}
	r.delegateOpen(e)
}

func (r *Ring) delegateOpen(e *entry) {
	path := uintptr(unsafe.Pointer(unsafe.SliceData(r.messages.of(e).text)))
	r.delegate(e, unix.SYS_OPENAT, uintptr(e.Fd), path, uintptr(e.OpFlags), uintptr(e.Len), 0, 0)
}

// opened records the descriptor. EAGAIN although only the ring has asked for O_NONBLOCK says that there is something to
// wait for after all: a lease, which the kernel ends after a while.
func (r *Ring) opened(e *entry, n int) {
	unblock := e.is(addedNonblock)
	e.flags &^= addedNonblock
	switch {
	case n == again && unblock:
		e.OpFlags &^= unix.O_NONBLOCK
		r.delegateOpen(e)
		return
	case n >= 0:
		if unblock {
			const settable = unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_NOATIME
			raw(unix.SYS_FCNTL, uintptr(n), unix.F_SETFL, uintptr(e.OpFlags&settable), 0, 0, 0)
		}
		r.adopt(int32(n), unknown)
	}
	r.finishCall(e, n)
}

// closeOpened closes the files that the pool has opened and whose completion is never posted.
func (r *Ring) closeOpened() (errs []error) {
	for _, res := range r.pool.collect(nil) {
		if res.n >= 0 && r.entries.at(res.entry).Opcode == uring.OpOpenat {
			errs = append(errs, closeError(res.n))
		}
	}
	return errs
}
