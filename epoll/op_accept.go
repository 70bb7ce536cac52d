//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// acceptCost is charged to a batch for an accepted connection, in addition to its turn: accepting takes about as long
// as receiving that many bytes.
const acceptCost = 16 << 10

// issueAccept starts an accept. It tries first, because events do not tell that a socket cannot listen.
func (r *Ring) issueAccept(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.Ioprio&^uring.AcceptMultishot != 0 || e.Len != 0 || e.BufIndex != 0 || e.FileIndex != 0 ||
		e.OpFlags&^(unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK) != 0:
		r.fail(e, unix.EINVAL)
		return
	}
	multishot := e.Ioprio&uring.AcceptMultishot != 0
	if errno := r.armSocket(e.Fd, multishot); errno != 0 {
		r.fail(e, errno)
		return
	}
	r.setNonblock(e.Fd)
	f := r.files.at(e.Fd)
	f.flags |= listening
	f.tryInput()
	r.park(e, waitsForInput)
	r.files.enqueue(e.Fd)
}

// accept makes one accept4(2).
func (r *Ring) accept(e *entry) verdict {
	multishot := e.Ioprio&uring.AcceptMultishot != 0
	n := raw(unix.SYS_ACCEPT4, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), uintptr(e.OpFlags), 0, 0)
	switch {
	case n == again && (multishot || !r.acceptsNoMore(e.Fd)):
		return wouldBlock
	case n == again && r.files.at(e.Fd).is(callerBlocks):
		r.fail(e, unix.EINVAL)
		return completed
	case n == interrupted:
		return tryAgain
	case n < 0:
		r.fail(e, unix.Errno(-n))
		return completed
	}
	r.spent += acceptCost
	r.adopt(int32(n), accepted)
	if multishot {
		r.post(e, int32(n), 0)
		return tryAgain
	}
	r.finish(e, int32(n), 0)
	return completed
}

// acceptsNoMore reports whether a listener was shut down for reading. Then accept(2) fails with EINVAL; but of a Unix
// socket only if it may wait, and with EAGAIN otherwise. The kernel's ring completes with the error that it finally
// gets. (It does not complete a multishot accept.)
func (r *Ring) acceptsNoMore(fd int32) bool {
	return r.files.at(fd).kind != tcp && r.tmp.pollNow(fd, unix.POLLRDHUP)&unix.POLLRDHUP != 0
}
