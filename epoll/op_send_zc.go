//go:build linux

package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// zcCopied is the result of a notification which says that the data was copied: IORING_NOTIF_USAGE_ZC_COPIED.
const zcCopied = -1 << 31

// issueSendZC starts a zero-copy send, which is an ordinary one here: the kernel's notifications for MSG_ZEROCOPY
// come through the socket's error queue, which is the caller's. It has the completions of a zero-copy send, and says
// if asked that it has copied.
func (r *Ring) issueSendZC(e *entry) {
	switch {
	case e.selectsBuffer():
		r.fail(e, unix.EOPNOTSUPP)
		return
	case e.is(hasAddr3):
		r.fail(e, unix.EINVAL)
		return
	}
	e.flags |= notifies
	if errno := r.checkSendZC(e); errno != 0 {
		r.fail(e, errno)
		return
	}
	r.tryOut(e)
}

// checkSendZC returns what is wrong with a zero-copy send.
func (r *Ring) checkSendZC(e *entry) unix.Errno {
	switch {
	case e.Ioprio&^uring.SendZCReportUsage != 0:
		e.Ioprio = 0 // so that the notification does not report the usage
		return unix.EINVAL
	case e.badAddress():
		return unix.EINVAL
	}
	errno := r.armSocket(e.Fd, false)
	if errno == 0 && !r.files.at(e.Fd).is(canZeroCopy) {
		return unix.EOPNOTSUPP
	}
	return errno
}

// notify posts the two completions of a zero-copy send.
func (r *Ring) notify(e *entry, res int32) {
	r.cq.push(uring.CQE{UserData: e.UserData, Res: res, Flags: uring.CQEMore})
	usage := int32(0)
	if e.Ioprio&uring.SendZCReportUsage != 0 {
		usage = zcCopied
	}
	r.cq.push(uring.CQE{UserData: e.UserData, Res: usage, Flags: uring.CQENotif})
}
