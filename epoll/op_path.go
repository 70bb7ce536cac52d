package epoll

import (
	runtimedebug "runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// statxFlags are the flags of statx(2) that there are.
const statxFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC

// issuePath starts an operation on paths. They are copied, for they need not stay, and the system call is the
// pool's: to look a path up may mean to read directories.
func (r *Ring) issuePath(i uint32) {
	e := r.slab.at(i)
	if errno := e.badPath(); errno != 0 {
		r.fail(i, errno)
		return
	}
	path, other, errno := r.takePaths(i, e.Addr, e.Off)
	if errno == 0 && e.Opcode == uring.OpStatx && e.OpFlags&^statxFlags != 0 {
		errno = unix.EINVAL // which statx(2) does not look at if the path is empty
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	dir, flags := uintptr(e.Fd), uintptr(e.OpFlags)
	var trap, b, c, d, f uintptr
	switch e.Opcode {
	case uring.OpStatx:
		trap, b, c, d, f = unix.SYS_STATX, path, flags, uintptr(e.Len), uintptr(e.Off)
	case uring.OpUnlinkat:
		trap, b, c = unix.SYS_UNLINKAT, path, flags
	case uring.OpMkdirat:
		trap, b, c = unix.SYS_MKDIRAT, path, uintptr(e.Len)
	case uring.OpSymlinkat:
		trap, dir, b, c = unix.SYS_SYMLINKAT, path, uintptr(e.Fd), other
	case uring.OpRenameat:
		trap, b, c, d, f = unix.SYS_RENAMEAT2, path, uintptr(int32(e.Len)), other, flags
	case uring.OpLinkat:
		trap, b, c, d, f = unix.SYS_LINKAT, path, uintptr(int32(e.Len)), other, flags
	}
	r.delegate(i, unfiled, trap, dir, b, c, d, f, 0)
}

// badPath says what is wrong with an entry on paths: what its operation has no use for must be 0.
func (e *entry) badPath() unix.Errno {
	if e.Flags&uring.SQEBufferSelect != 0 {
		return unix.EOPNOTSUPP
	}
	bad := e.Ioprio != 0 || e.BufIndex != 0
	switch e.Opcode {
	case uring.OpOpenat:
	case uring.OpUnlinkat:
		bad = bad || e.FileIndex != 0 || e.Off != 0 || e.Len != 0
	case uring.OpMkdirat:
		bad = bad || e.FileIndex != 0 || e.Off != 0 || e.OpFlags != 0
	case uring.OpSymlinkat:
		bad = bad || e.FileIndex != 0 || e.Len != 0 || e.OpFlags != 0
	default:
		bad = bad || e.FileIndex != 0
	}
	switch {
	case bad:
		return unix.EINVAL
	case e.Opcode == uring.OpUnlinkat && e.OpFlags&^unix.AT_REMOVEDIR != 0:
		return unix.EINVAL
	}
	return 0
}

// takePaths copies one or two paths and returns where. What is wrong with them comes before what is wrong with
// anything that the system call looks at.
func (r *Ring) takePaths(i uint32, first, second uint64) (a, b uintptr, errno unix.Errno) {
	e := r.slab.at(i)
	mayBeEmpty := (e.Opcode == uring.OpStatx || e.Opcode == uring.OpLinkat) && e.OpFlags&unix.AT_EMPTY_PATH != 0
	m := r.messageOf(i)
	m.text = m.text[:0]
	errno = m.takePath(first, mayBeEmpty)
	length := len(m.text)
	if errno == 0 && (e.Opcode == uring.OpRenameat || e.Opcode == uring.OpLinkat || e.Opcode == uring.OpSymlinkat) {
		errno = m.takePath(second, false)
	}
	a = uintptr(unsafe.Pointer(unsafe.SliceData(m.text)))
	return a, a + uintptr(length), errno
}

// takePath appends the string at an address, with its zero.
func (m *message) takePath(from uint64, mayBeEmpty bool) unix.Errno {
	start := len(m.text)
	errno := m.takeString(from)
	if errno == 0 && len(m.text)-start == 1 && !mayBeEmpty {
		errno = unix.ENOENT
	}
	return errno
}

func (m *message) takeString(from uint64) (errno unix.Errno) {
	defer runtimedebug.SetPanicOnFault(runtimedebug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			errno = unix.EFAULT
		}
	}()
	for range unix.PathMax {
		c := *(*byte)(pointer(&from))
		if m.text = append(m.text, c); c == 0 {
			return 0
		}
		from++
	}
	return unix.ENAMETOOLONG
}
