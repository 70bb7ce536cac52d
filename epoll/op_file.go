package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issueFile starts an operation on an open file that is one system call of the pool's.
func (r *Ring) issueFile(i uint32) {
	e := r.slab.at(i)
	if errno := e.badFile(); errno != 0 {
		r.fail(i, errno)
		return
	}
	switch e.Opcode {
	case uring.OpFsync:
		trap := uintptr(unix.SYS_FSYNC)
		if e.OpFlags&uring.FsyncDatasync != 0 {
			trap = unix.SYS_FDATASYNC
		}
		r.delegateFile(i, call{trap: trap})
	case uring.OpFallocate:
		r.delegateFile(i, e.callFallocate())
	case uring.OpFtruncate:
		r.delegateFile(i, e.callFtruncate())
	}
}

// badFile says what is wrong with an entry: what its operation has no use for must be 0.
func (e *entry) badFile() unix.Errno {
	if e.Flags&uring.SQEBufferSelect != 0 {
		return unix.EOPNOTSUPP
	}
	bad := e.Ioprio != 0 || e.BufIndex != 0 || e.FileIndex != 0
	switch e.Opcode {
	case uring.OpFsync:
		bad = bad || e.Addr != 0 || e.OpFlags&^uring.FsyncDatasync != 0 || int64(e.Off) < 0
	case uring.OpFallocate:
		bad = bad || e.OpFlags != 0
	case uring.OpFtruncate:
		bad = bad || e.OpFlags != 0 || e.Addr != 0 || e.Len != 0 || e.Addr3 != 0
	}
	if bad {
		return unix.EINVAL
	}
	return 0
}
