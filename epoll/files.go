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
	case uring.OpSyncFileRange:
		r.delegateFile(i, e.callSyncFileRange())
	case uring.OpFallocate:
		r.delegateFile(i, e.callFallocate())
	case uring.OpFtruncate:
		r.delegateFile(i, e.callFtruncate())
	case uring.OpFadvise:
		r.issueFadvise(i)
	}
}

// onFile reports whether an opcode is about the one open file Fd.
func onFile(op uring.Op) bool {
	switch op {
	case uring.OpRead, uring.OpWrite, uring.OpReadv, uring.OpWritev, uring.OpReadFixed, uring.OpWriteFixed, uring.OpReadMultishot,
		uring.OpFsync, uring.OpSyncFileRange, uring.OpFallocate, uring.OpFtruncate, uring.OpFadvise,
		uring.OpFsetxattr, uring.OpFgetxattr, uring.OpSplice, uring.OpTee:
		return true
	}
	return false
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
	case uring.OpSyncFileRange:
		bad = bad || e.Addr != 0
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

// issueFadvise gives advice: at once, unless it makes the kernel read or drop pages.
func (r *Ring) issueFadvise(i uint32) {
	e := r.slab.at(i)
	size := e.Addr
	if size == 0 {
		size = uint64(e.Len)
	}
	c := e.callFadvise(size)
	switch e.OpFlags {
	case unix.FADV_NORMAL, unix.FADV_RANDOM, unix.FADV_SEQUENTIAL:
		if errno := r.open(e.Fd); errno != 0 {
			r.fail(i, errno)
			return
		}
		r.finishRaw(i, raw(c.trap, uintptr(e.Fd), c.b, c.c, c.d, c.e, c.f))
	default:
		r.delegateFile(i, c)
	}
}

// issuePipe makes a pipe.
func (r *Ring) issuePipe(i uint32) {
	e := r.slab.at(i)
	const known = unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_EXCL // O_EXCL: a notification pipe
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Fd != 0 || e.Off != 0 || e.Addr3 != 0 || e.OpFlags&^known != 0:
		r.fail(i, unix.EINVAL)
	case e.FileIndex != 0:
		r.fail(i, unix.ENXIO) // there are no registered files
	default:
		at := e.Addr
		n := raw(unix.SYS_PIPE2, uintptr(e.Addr), uintptr(e.OpFlags), 0, 0, 0, 0)
		if n == 0 {
			for _, fd := range *(*[2]int32)(pointer(&at)) {
				r.adopt(fd, 0)
			}
		}
		r.finishRaw(i, n)
	}
}
