package epoll

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func (r *Ring) issueConnect(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Len != 0 || e.BufIndex != 0 || e.OpFlags != 0 || e.FileIndex != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	// A socket to connect is mostly a new one, so its record, if there is one, is of an earlier use. It
	// is registered before connecting, which also finds out what it is.
	if errno := r.armSocket(e.Fd, true); errno != 0 {
		r.fail(i, errno)
		return
	}
	r.notePatience(e.Fd)
	r.setNonblock(e.Fd)
	if r.until(i) == wouldBlock {
		r.files.at(e.Fd).state |= blocked
		r.park(i, waitingOut)
	}
}

// connect is one connect(2): the first starts it, another one finds out what has become of it. If it
// has failed, the socket's error is taken instead, which leaves the socket as the kernel's ring does.
func (r *Ring) connect(i uint32) verdict {
	e := r.slab.at(i)
	if e.mark&connecting != 0 {
		if errno := r.sockopt(e.Fd, unix.SO_ERROR); errno > 0 {
			r.fail(i, unix.Errno(errno))
			return finished
		}
	}
	n := raw(unix.SYS_CONNECT, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), 0, 0, 0)
	switch {
	case n == again && r.files.at(e.Fd).patient:
		r.crowded = append(r.crowded, e.Fd)
		return wouldBlock
	case n == -int(unix.EINPROGRESS):
		e.mark |= connecting
		r.files.at(e.Fd).state &^= readable
		return wouldBlock
	case n == -int(unix.EALREADY) && e.mark&connecting != 0:
		return wouldBlock
	case n == -int(unix.ECONNABORTED) && e.mark&aborted == 0:
		e.mark |= aborted // what was left of an earlier connection; it is clean now
		return progress
	case n == interrupted:
		return progress
	case n == -int(unix.EISCONN) && e.mark&connecting != 0:
		n = 0
	}
	r.finishRaw(i, n)
	return finished
}

// notePatience notes whether the caller's socket has O_NONBLOCK, which the ring is about to set for itself: the
// kernel's ring goes by that where a connect finds the backlog of a Unix socket full, as connect(2) does.
func (r *Ring) notePatience(fd int32) {
	if f := r.files.at(fd); f.state&nonblock == 0 {
		flags := raw(unix.SYS_FCNTL, uintptr(fd), unix.F_GETFL, 0, 0, 0, 0)
		f.patient = flags >= 0 && flags&unix.O_NONBLOCK == 0
	}
}

// retryAfter is how often a connect is tried again that found the backlog of a Unix socket full. connect(2) would
// wait for room there; but no event tells of it, and a worker in connect(2) could not be called back.
const retryAfter = 2 * time.Millisecond

// retryConnects tries them again, when it is time.
func (r *Ring) retryConnects() {
	now := time.Now()
	if now.Before(r.retryAt) {
		return
	}
	r.retryAt = now.Add(retryAfter)
	for _, fd := range r.crowded {
		f := r.files.at(fd)
		if i := f.out.head; i != 0 && r.slab.at(i).Opcode == uring.OpConnect { // still
			f.state &^= blocked
			r.enqueue(fd)
		}
	}
	r.crowded = r.crowded[:0]
}
