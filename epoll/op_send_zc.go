package epoll

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// zcCopied is the result of a notification: the data was copied after all. IORING_NOTIF_USAGE_ZC_COPIED.
const zcCopied = -1 << 31

// issueSendZC starts a zero-copy send, which is an ordinary one here: the kernel's notifications for
// MSG_ZEROCOPY come through the socket's error queue, which is the caller's. It has the completions of a
// zero-copy send, and says when asked that it has copied.
func (r *Ring) issueSendZC(i uint32) {
	e := r.slab.at(i)
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Addr3 != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	e.mark |= notifies
	switch errno := r.checkSendZC(e); errno {
	case 0:
		r.tryOut(i, e.OpFlags&unix.MSG_DONTWAIT != 0)
	default:
		r.fail(i, errno)
	}
}

// checkSendZC says what is wrong with a zero-copy send.
func (r *Ring) checkSendZC(e *entry) unix.Errno {
	switch {
	case e.Ioprio&^uring.SendZCReportUsage != 0:
		e.Ioprio = 0 // nothing of it counts
		return unix.EINVAL
	case e.badAddress():
		return unix.EINVAL
	}
	errno := r.armSocket(e.Fd, false)
	if errno == 0 && r.files.at(e.Fd).state&zerocopy == 0 {
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
