package epoll

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const maxValue = 1 << 16 // XATTR_SIZE_MAX

// issueXattr reads or sets an extended attribute of an open file or of a path. Its name, its path and a value
// that is set need not stay, and are copied.
func (r *Ring) issueXattr(i uint32) {
	e := r.slab.at(i)
	sets := e.Opcode == uring.OpSetxattr || e.Opcode == uring.OpFsetxattr
	onPath := e.Opcode == uring.OpSetxattr || e.Opcode == uring.OpGetxattr
	errno := e.badXattr(sets)
	if errno == 0 && sets {
		errno = r.takeValue(i)
	}
	var name, path uintptr
	if errno == 0 {
		name, path, errno = r.takeNames(i, onPath)
	}
	if errno != 0 {
		r.fail(i, errno)
		return
	}
	value := uintptr(e.Off)
	if sets {
		value = uintptr(unsafe.Pointer(unsafe.SliceData(r.messages[e.msg].value)))
	}
	var trap, flags uintptr
	switch e.Opcode {
	case uring.OpSetxattr:
		trap, flags = unix.SYS_SETXATTR, uintptr(e.OpFlags)
	case uring.OpFsetxattr:
		trap, flags = unix.SYS_FSETXATTR, uintptr(e.OpFlags)
	case uring.OpGetxattr:
		trap = unix.SYS_GETXATTR
	case uring.OpFgetxattr:
		trap = unix.SYS_FGETXATTR
	}
	if onPath {
		r.delegate(i, unfiled, trap, path, name, value, uintptr(e.Len), flags, 0)
		return
	}
	r.delegateFile(i, trap, name, value, uintptr(e.Len), flags, 0)
}

func (e *entry) badXattr(sets bool) unix.Errno {
	const known = unix.XATTR_CREATE | unix.XATTR_REPLACE
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		return unix.EOPNOTSUPP
	case e.Ioprio != 0, !sets && e.OpFlags != 0, sets && e.OpFlags&^known != 0:
		return unix.EINVAL
	}
	return 0
}

// takeNames copies the name of the attribute and, if asked for, the path.
func (r *Ring) takeNames(i uint32, onPath bool) (name, path uintptr, errno unix.Errno) {
	e := r.slab.at(i)
	if e.Addr == 0 || onPath && e.Addr3 == 0 {
		return 0, 0, unix.EFAULT
	}
	var second uint64
	if onPath {
		second = e.Addr3
	}
	name, path, errno = r.takePaths(i, e.Addr, second)
	if errno == unix.ENAMETOOLONG && len(r.messages[e.msg].text) == unix.PathMax {
		errno = unix.ERANGE // the name, not the path
	}
	return name, path, errno
}

// takeValue copies the value to be set.
func (r *Ring) takeValue(i uint32) unix.Errno {
	e := r.slab.at(i)
	if e.Len > maxValue {
		return unix.E2BIG
	}
	m := r.messageOf(i)
	m.value = append(m.value[:0], make([]byte, e.Len)...)
	if !copyIn(m.value, e.Off) {
		return unix.EFAULT
	}
	return 0
}
