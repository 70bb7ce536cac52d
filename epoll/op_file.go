//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issueFile starts an operation on an open file that is one system call of the pool.
func (r *Ring) issueFile(e *entry) {
	errno := e.checkFile()
	if errno == 0 {
		// The pool must not meet another file that gets the number later.
		errno = r.open(e.Fd)
	}
	if errno != 0 {
		r.fail(e, errno)
		return
	}
	var c call
	switch e.Opcode {
	case uring.OpFsync:
		c.trap = unix.SYS_FSYNC
		if e.OpFlags&uring.FsyncDatasync != 0 {
			c.trap = unix.SYS_FDATASYNC
		}
	case uring.OpFallocate:
		c = e.callFallocate()
	case uring.OpFtruncate:
		c = e.callFtruncate()
	}
	r.files.make(e.Fd)
	r.delegate(e, c.trap, uintptr(e.Fd), c.b, c.c, c.d, c.e, c.f)
}

// checkFile returns what is wrong with an entry: the fields that its operation does not use must be 0.
func (e *entry) checkFile() unix.Errno {
	if e.selectsBuffer() {
		return unix.EOPNOTSUPP
	}
	bad := e.Ioprio != 0 || e.BufIndex != 0 || e.FileIndex != 0
	switch e.Opcode {
	case uring.OpFsync:
		bad = bad || e.Addr != 0 || e.OpFlags&^uring.FsyncDatasync != 0 || int64(e.Off) < 0
	case uring.OpFallocate:
		bad = bad || e.OpFlags != 0
	case uring.OpFtruncate:
		bad = bad || e.OpFlags != 0 || e.Addr != 0 || e.Len != 0 || e.is(hasAddr3)
	}
	if bad {
		return unix.EINVAL
	}
	return 0
}
