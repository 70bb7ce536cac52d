//go:build linux

package epoll

import "golang.org/x/sys/unix"

// issueCancel cancels the latest entry in flight with a user_data. As with the kernel, the cancel's own completion
// comes first. A system call that a worker or io_submit(2) has begun cannot be stopped: its entry completes by
// itself.
func (r *Ring) issueCancel(e *entry) {
	target := r.byUserData.find(&r.entries, e.Addr)
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
	case e.Ioprio != 0 || e.Off != 0 || e.FileIndex != 0 || e.OpFlags != 0:
		r.fail(e, unix.EINVAL)
	case target == nil:
		r.fail(e, unix.ENOENT)
	case target.state == pooled && !r.pool.cancel(target.index):
		r.fail(e, unix.EALREADY)
	default:
		r.finish(e, 0, 0)
		r.fail(target, unix.ECANCELED)
	}
}
