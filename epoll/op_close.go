//go:build linux

package epoll

import "golang.org/x/sys/unix"

// issueClose closes a descriptor. As with the kernel, entries in flight on the file are not completed by that. Until
// they have completed, the number stays taken, but further entries fail as if it were free.
func (r *Ring) issueClose(e *entry) {
	f := r.files.find(e.Fd)
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Off != 0 || e.Addr != 0 || e.Len != 0 || e.OpFlags != 0 || e.BufIndex != 0,
		e.FileIndex != 0:
		r.fail(e, unix.EINVAL)
	case int(e.Fd) == r.poller.fd || int(e.Fd) == r.waker.Fd() || f != nil && f.is(closeRequested):
		r.fail(e, unix.EBADF)
	case f != nil && f.inFlight != 0:
		f.flags |= closeRequested
		r.finish(e, 0, 0)
	default:
		r.finishCall(e, r.close(e.Fd))
	}
}
