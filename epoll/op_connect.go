//go:build linux

package epoll

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

func (r *Ring) issueConnect(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Len != 0 || e.BufIndex != 0 || e.OpFlags != 0 || e.FileIndex != 0:
		r.fail(e, unix.EINVAL)
		return
	}
	// A socket to connect is mostly a new one, so its record, if there is one, is of an earlier use. It
	// is registered before connecting, which also finds out what it is.
	if errno := r.armSocket(e.Fd, true); errno != 0 {
		r.fail(e, errno)
		return
	}
	r.setNonblock(e.Fd)
	f := r.files.at(e.Fd)
	if f.is(connectUnasked) {
		switch n := raw(unix.SYS_CONNECT, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), 0, 0, 0); n {
		case 0:
			f.flags &^= connectUnasked
		case -int(unix.EFAULT), -int(unix.EINVAL), -int(unix.EAFNOSUPPORT):
			r.fail(e, unix.Errno(-n))
			return
		default: // it was reset meanwhile
			f.flags &^= connectUnasked
			r.fail(e, unix.EISCONN)
			return
		}
	}
	if r.attemptAll(e) == wouldBlock {
		f.fillOutput()
		r.park(e, waitsForOutput)
	}
}

// connect makes one connect(2): the first starts to connect, another one finds out what has become of it. If it has
// failed, the socket's error is taken instead, which leaves the socket in the state in which the kernel's ring leaves
// it. TCP that has connected needs no second one: its event says so.
func (r *Ring) connect(e *entry) verdict {
	f := r.files.at(e.Fd)
	switch {
	case !e.is(connectStarted):
	case f.kind == tcp && f.is(connected):
		f.flags |= connectUnasked
		r.finish(e, 0, 0)
		return completed
	default:
		if errno := r.tmp.sockopt(e.Fd, unix.SO_ERROR); errno > 0 {
			r.fail(e, unix.Errno(errno))
			return completed
		}
	}
	n := raw(unix.SYS_CONNECT, uintptr(e.Fd), uintptr(e.Addr), uintptr(e.Off), 0, 0, 0)
	switch {
	case n == again && f.is(callerBlocks):
		r.retries.add(e.Fd)
		return wouldBlock
	case n == -int(unix.EINPROGRESS):
		e.flags |= connectStarted
		f.flags &^= connected
		f.clearInput()
		return wouldBlock
	case n == -int(unix.EALREADY) && e.is(connectStarted):
		return wouldBlock
	case n == -int(unix.ECONNABORTED) && !e.is(connectAborted):
		e.flags |= connectAborted // a remainder of an earlier connection, which is gone now
		return tryAgain
	case n == interrupted:
		return tryAgain
	case n == -int(unix.EISCONN) && e.is(connectStarted):
		n = 0
	}
	r.finishCall(e, n)
	return completed
}

// connectRetries are the connects that found the backlog of a Unix socket full. connect(2) would wait for room there
// if the caller's socket has no O_NONBLOCK. No event reports room, and a worker in connect(2) could not be
// interrupted, so these connects are tried again after a while.
type connectRetries struct {
	fds []int32
	at  time.Time // when they are tried
}

// retryAfter is the time after which a connect is tried again.
const retryAfter = 2 * time.Millisecond

func (c *connectRetries) add(fd int32) { c.fds = append(c.fds, fd) }

func (c *connectRetries) pending() bool { return len(c.fds) != 0 }

// retryConnects tries them again, if it is time.
func (r *Ring) retryConnects() {
	now := time.Now()
	if now.Before(r.retries.at) {
		return
	}
	r.retries.at = now.Add(retryAfter)
	for _, fd := range r.retries.fds {
		f := r.files.at(fd)
		if e := r.entries.first(&f.out); e != nil && e.Opcode == uring.OpConnect { // it may be another file by now
			f.openOutput()
			r.files.enqueue(fd)
		}
	}
	r.retries.fds = r.retries.fds[:0]
}
