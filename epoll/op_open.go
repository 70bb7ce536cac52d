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
	var path uintptr
	if errno == 0 {
		path, _, errno = r.takePaths(i, e.Addr, 0)
	}
	switch {
	case errno != 0:
	case e.FileIndex != 0 && e.OpFlags&unix.O_CLOEXEC != 0:
		errno = unix.EINVAL
	case e.FileIndex != 0:
		errno = unix.ENXIO // there are no registered files
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	if e.OpFlags&unix.O_PATH == 0 {
		e.OpFlags |= unix.O_LARGEFILE
	}
	if e.OpFlags&(unix.O_PATH|unix.O_NONBLOCK) == 0 {
		e.OpFlags |= unix.O_NONBLOCK
		e.mark |= unasked
	}
	const disk = unix.O_CREAT | unix.O_TRUNC | unix.O_TMPFILE&^unix.O_DIRECTORY
	if e.OpFlags&disk == 0 { // so the mode means nothing, and openat2(2) refuses it
		r.tmp.how = unix.OpenHow{Flags: uint64(e.OpFlags), Resolve: resolveCached}
		n := raw(unix.SYS_OPENAT2, uintptr(e.Fd), path, uintptr(unsafe.Pointer(&r.tmp.how)), unix.SizeofOpenHow, 0, 0)
		if n >= 0 {
			r.opened(i, n)
			return
		}
	}
	r.delegateOpen(i)
}

func (r *Ring) delegateOpen(i uint32) {
	e := r.slab.at(i)
	path := uintptr(unsafe.Pointer(unsafe.SliceData(r.messages[e.msg].text)))
	r.delegate(i, unfiled, unix.SYS_OPENAT, uintptr(e.Fd), path, uintptr(e.OpFlags), uintptr(e.Len), 0, 0)
}

// opened takes note of the descriptor. EAGAIN with an O_NONBLOCK that nobody asked for says that there is
// something to wait for after all: a lease, which the kernel ends after a while.
func (r *Ring) opened(i uint32, n int) {
	e := r.slab.at(i)
	unblock := e.mark&unasked != 0
	e.mark &^= unasked
	switch {
	case n == again && unblock:
		e.OpFlags &^= unix.O_NONBLOCK
		r.delegateOpen(i)
		return
	case n >= 0:
		if unblock {
			const settable = unix.O_APPEND | unix.O_ASYNC | unix.O_DIRECT | unix.O_NOATIME
			raw(unix.SYS_FCNTL, uintptr(n), unix.F_SETFL, uintptr(e.OpFlags&settable), 0, 0, 0)
		}
		r.adopt(int32(n), 0)
	}
	r.finishRaw(i, n)
}

// closeOpened closes what the pool has opened and nobody will hear of.
func (r *Ring) closeOpened() (errs []error) {
	for _, res := range r.pool.collect(nil) {
		if res.n >= 0 && r.slab.at(res.entry).Opcode == uring.OpOpenat {
			errs = append(errs, os.NewSyscallError("close", unix.Close(res.n)))
		}
	}
	return errs
}
