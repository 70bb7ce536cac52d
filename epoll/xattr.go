package epoll

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

const (
	maxName  = 255     // XATTR_NAME_MAX
	maxValue = 1 << 16 // XATTR_SIZE_MAX
)

// issueXattr reads or sets an extended attribute of an open file or of a path. Its name, its path and a value
// that is set need not stay, and are copied.
func (r *Ring) issueXattr(i uint32) {
	e := r.slab.at(i)
	if errno := r.takeXattr(i); errno != 0 {
		r.fail(i, errno)
		return
	}
	m := r.messages[e.msg]
	name, value := uintptr(unsafe.Pointer(unsafe.SliceData(m.text))), uintptr(e.Off)
	path := name + uintptr(e.done)
	e.done = 0
	var trap uintptr
	switch e.Opcode {
	case uring.OpSetxattr:
		trap = unix.SYS_SETXATTR
	case uring.OpFsetxattr:
		trap = unix.SYS_FSETXATTR
	case uring.OpGetxattr:
		trap = unix.SYS_GETXATTR
	case uring.OpFgetxattr:
		trap = unix.SYS_FGETXATTR
	}
	if e.setsXattr() {
		value = uintptr(unsafe.Pointer(unsafe.SliceData(m.value)))
	}
	if e.namesPath() {
		r.delegate(i, unfiled, trap, path, name, value, uintptr(e.Len), uintptr(e.OpFlags), 0)
		return
	}
	r.delegateFile(i, call{trap: trap, b: name, c: value, d: uintptr(e.Len), e: uintptr(e.OpFlags)})
}

func (e *entry) setsXattr() bool {
	return e.Opcode == uring.OpSetxattr || e.Opcode == uring.OpFsetxattr
}

func (e *entry) namesPath() bool { return e.Opcode == uring.OpSetxattr || e.Opcode == uring.OpGetxattr }

// takeXattr checks the entry and copies, in this order, the name, the value and the path. It leaves in e.done
// where the path begins.
func (r *Ring) takeXattr(i uint32) unix.Errno {
	e := r.slab.at(i)
	const known = unix.XATTR_CREATE | unix.XATTR_REPLACE
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		return unix.EOPNOTSUPP
	case e.namesPath() && e.Flags&uring.SQEFixedFile != 0:
		return unix.EBADF // there are no registered files
	case e.Ioprio != 0, !e.setsXattr() && e.OpFlags != 0, e.OpFlags&^known != 0:
		return unix.EINVAL
	}
	m := r.messageOf(i)
	m.text = m.text[:0]
	errno := m.takeString(e.Addr)
	switch length := len(m.text) - 1; {
	case errno == unix.EFAULT:
		return errno
	case errno != 0 || length == 0 || length > maxName:
		return unix.ERANGE
	}
	if errno := r.takeValue(i); errno != 0 || !e.namesPath() {
		return errno
	}
	e.done = uint32(len(m.text))
	return m.takePath(e.Addr3, false)
}

// takeValue copies the value to be set.
func (r *Ring) takeValue(i uint32) unix.Errno {
	e := r.slab.at(i)
	m := r.messages[e.msg]
	switch {
	case !e.setsXattr():
	case e.Len > maxValue:
		return unix.E2BIG
	default:
		m.value = slices.Grow(m.value[:0], int(e.Len))[:e.Len]
		if !copyIn(m.value, e.Off) {
			return unix.EFAULT
		}
	}
	return 0
}
