package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// issueCancel cancels the latest entry in flight with a user_data. As with the kernel, the cancel's own completion comes
// first. What a worker has begun cannot be stopped and completes by itself.
func (r *Ring) issueCancel(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.Off != 0 || e.FileIndex != 0 || e.OpFlags != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	target := r.users.find(&r.slab, e.Addr)
	switch {
	case target == 0:
		r.fail(i, unix.ENOENT)
	case (r.slab.at(target).at == pooled || r.slab.at(target).at == unfiled) && !r.pool.cancel(target):
		r.fail(i, unix.EALREADY)
	default:
		r.finish(i, 0, 0)
		r.fail(target, unix.ECANCELED)
	}
}
