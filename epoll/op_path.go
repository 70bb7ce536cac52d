//go:build linux

package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// statxFlags are the flags that statx(2) has.
const statxFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH |
	unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC

// issuePath starts an operation on paths. They are copied, because they need not stay. The pool makes the system call:
// to look a path up can mean to read directories.
func (r *Ring) issuePath(e *entry) {
	errno := e.checkPath()
	var path, other uintptr
	if errno == 0 {
		path, other, errno = r.takePaths(e)
	}
	if errno == 0 && e.Opcode == uring.OpStatx && e.OpFlags&^statxFlags != 0 {
		errno = unix.EINVAL // which statx(2) does not say if the path is empty
	}
	if errno != 0 {
		r.fail(e, errno)
		return
	}
	dir, flags := uintptr(e.Fd), uintptr(e.OpFlags)
	switch e.Opcode {
	case uring.OpStatx:
		r.delegate(e, unix.SYS_STATX, dir, path, flags, uintptr(e.Len), uintptr(e.Off), 0)
	case uring.OpUnlinkat:
		r.delegate(e, unix.SYS_UNLINKAT, dir, path, flags, 0, 0, 0)
	case uring.OpMkdirat:
		r.delegate(e, unix.SYS_MKDIRAT, dir, path, uintptr(e.Len), 0, 0, 0)
	case uring.OpSymlinkat:
		r.delegate(e, unix.SYS_SYMLINKAT, path, dir, other, 0, 0, 0)
	case uring.OpRenameat:
		r.delegate(e, unix.SYS_RENAMEAT2, dir, path, uintptr(int32(e.Len)), other, flags, 0)
	case uring.OpLinkat:
		r.delegate(e, unix.SYS_LINKAT, dir, path, uintptr(int32(e.Len)), other, flags, 0)
	}
}

// checkPath returns what is wrong with an entry on paths: the fields that its operation does not use must be 0.
func (e *entry) checkPath() unix.Errno {
	if e.selectsBuffer() {
		return unix.EOPNOTSUPP
	}
	bad := e.Ioprio != 0 || e.BufIndex != 0
	switch e.Opcode {
	case uring.OpOpenat:
	case uring.OpUnlinkat:
		bad = bad || e.FileIndex != 0 || e.Off != 0 || e.Len != 0 || e.OpFlags&^unix.AT_REMOVEDIR != 0
	case uring.OpMkdirat:
		bad = bad || e.FileIndex != 0 || e.Off != 0 || e.OpFlags != 0
	case uring.OpSymlinkat:
		bad = bad || e.FileIndex != 0 || e.Len != 0 || e.OpFlags != 0
	default:
		bad = bad || e.FileIndex != 0
	}
	if bad {
		return unix.EINVAL
	}
	return 0
}

// takePaths copies the path of an entry, or its two paths, and returns the addresses of the copies. An error in them
// comes before any error that the system call finds.
func (r *Ring) takePaths(e *entry) (first, second uintptr, errno unix.Errno) {
	mayBeEmpty, two := false, false
	switch e.Opcode {
	case uring.OpStatx:
		mayBeEmpty = e.OpFlags&unix.AT_EMPTY_PATH != 0
	case uring.OpLinkat:
		mayBeEmpty, two = e.OpFlags&unix.AT_EMPTY_PATH != 0, true
	case uring.OpRenameat, uring.OpSymlinkat:
		two = true
	}
	m := r.messages.of(e)
	m.text = m.text[:0]
	errno = m.takePath(e.Addr, mayBeEmpty)
	length := len(m.text)
	if errno == 0 && two {
		errno = m.takePath(e.Off, false)
	}
	first = uintptr(unsafe.Pointer(unsafe.SliceData(m.text)))
	return first, first + uintptr(length), errno
}

// takePath appends the path at an address, with its zero.
func (m *message) takePath(from uint64, mayBeEmpty bool) (errno unix.Errno) {
	start := len(m.text)
	if m.text, errno = appendString(m.text, from); errno == 0 && len(m.text)-start == 1 && !mayBeEmpty {
		errno = unix.ENOENT
	}
	return errno
}
