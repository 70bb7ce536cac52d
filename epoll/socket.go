package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// maxAddress is the size of the longest address there is, struct sockaddr_storage.
const maxAddress = 128

// issueSocket makes a socket. There are no registered files to put it into.
func (r *Ring) issueSocket(i uint32) {
	e := r.slab.at(i)
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	const kinds = 0xf // SOCK_TYPE_MASK
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Addr != 0 || e.OpFlags != 0 || e.BufIndex != 0 || uint32(e.Off)&^uint32(flags|kinds) != 0,
		e.FileIndex != 0 && e.Off&unix.SOCK_CLOEXEC != 0:
		r.fail(i, unix.EINVAL)
		return
	case e.FileIndex != 0:
		r.fail(i, unix.ENXIO)
		return
	}
	n := raw(unix.SYS_SOCKET, uintptr(e.Fd), uintptr(uint32(e.Off)), uintptr(e.Len), 0, 0, 0)
	if n >= 0 {
		r.adopt(int32(n), 0)
	}
	r.finishRaw(i, n)
}

func (r *Ring) issueBind(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Len != 0 || e.OpFlags != 0 || e.BufIndex != 0 || e.FileIndex != 0 || uint32(e.Off) > maxAddress:
		r.fail(i, unix.EINVAL)
	case r.closed(e.Fd):
		r.fail(i, unix.EBADF)
	default:
		r.finishRaw(i, raw(unix.SYS_BIND, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), 0, 0, 0))
	}
}

func (r *Ring) issueListen(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Addr != 0 || e.Off != 0 || e.OpFlags != 0 || e.BufIndex != 0 || e.FileIndex != 0:
		r.fail(i, unix.EINVAL)
	case r.closed(e.Fd):
		r.fail(i, unix.EBADF)
	default:
		r.finishRaw(i, raw(unix.SYS_LISTEN, uintptr(e.Fd), uintptr(e.Len), 0, 0, 0, 0))
	}
}
