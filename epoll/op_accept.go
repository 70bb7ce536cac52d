package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// acceptCost is what an accepted connection is charged of a batch, on top of its turn: it takes about
// as long as receiving that many bytes.
const acceptCost = 16 << 10

// issueAccept starts an accept. It tries first, because events do not tell that a socket cannot listen.
func (r *Ring) issueAccept(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio&^uring.AcceptMultishot != 0 || e.Len != 0 || e.BufIndex != 0 || e.FileIndex != 0 ||
		e.OpFlags&^(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK) != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	if errno := r.armSocket(e.Fd, e.Ioprio&uring.AcceptMultishot != 0); errno != 0 {
		r.fail(i, errno)
		return
	}
	r.notePatience(e.Fd)
	r.setNonblock(e.Fd)
	r.files.at(e.Fd).state |= listens | readable
	r.park(i, waitingIn)
	r.enqueue(e.Fd)
}

// accept is one accept4(2).
func (r *Ring) accept(i uint32) verdict {
	e := r.slab.at(i)
	n := raw(unix.SYS_ACCEPT4, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), uintptr(e.OpFlags), 0, 0)
	switch {
	case n == again:
		if e.Ioprio&uring.AcceptMultishot != 0 || !r.deaf(e.Fd) {
			return wouldBlock
		}
		r.fail(i, r.deafness(e.Fd))
		return finished
	case n == interrupted:
		return progress
	case n < 0:
		r.fail(i, unix.Errno(-n))
		return finished
	}
	r.spent += acceptCost
	r.adopt(int32(n), accepted)
	if e.Ioprio&uring.AcceptMultishot != 0 {
		r.post(i, int32(n), 0)
		return progress
	}
	r.finish(i, int32(n), 0)
	return finished
}

// deaf reports whether a listener that accepts nothing will never do so. Of one that was shut down for reading
// accept(2) says that by EINVAL, but for Unix sockets only where it may wait: otherwise by EAGAIN, which the kernel's
// ring hands on in the end. (A multishot accept it does not end.)
func (r *Ring) deaf(fd int32) bool {
	return r.files.at(fd).kind != tcp && r.events(fd, unix.POLLRDHUP)&unix.POLLRDHUP != 0
}

func (r *Ring) deafness(fd int32) unix.Errno {
	if r.files.at(fd).patient {
		return unix.EINVAL
	}
	return unix.EAGAIN
}
