package epoll

import (
	runtimedebug "runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issuePath starts an operation on paths. They are copied, for they need not stay, and the system call is the
// pool's: to look a path up may mean to read directories.
func (r *Ring) issuePath(i uint32) {
	e := r.slab.at(i)
	if errno := e.badPath(); errno != 0 {
		r.fail(i, errno)
		return
	}
	var second uint64
	if e.Opcode == uring.OpRenameat || e.Opcode == uring.OpLinkat || e.Opcode == uring.OpSymlinkat {
		second = e.Off
	}
	path, other, errno := r.takePaths(i, e.Addr, second)
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
	case uring.OpOpenat, uring.OpOpenat2:
	case uring.OpUnlinkat:
		bad = bad || e.FileIndex != 0 || e.Off != 0 || e.Len != 0
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

// takePaths copies one or two paths and returns where. An address of 0 is left for the kernel to judge.
func (r *Ring) takePaths(i uint32, first, second uint64) (a, b uintptr, errno unix.Errno) {
	m := r.messageOf(i)
	m.text = m.text[:0]
	if errno = m.takePath(first); errno != 0 {
		return 0, 0, errno
	}
	length := len(m.text)
	if errno = m.takePath(second); errno != 0 {
		return 0, 0, errno
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.text)))
	if first != 0 {
		a = base
	}
	if second != 0 {
		b = base + uintptr(length)
	}
	return a, b, 0
}

// takePath appends the string at an address, with its zero.
func (m *message) takePath(from uint64) (errno unix.Errno) {
	if from == 0 {
		return 0
	}
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
