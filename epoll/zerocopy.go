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
	const known = uring.RecvsendPollFirst | uring.RecvsendFixedBuf | uring.SendZCReportUsage
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Addr3 != 0 || e.Flags&uring.SQECQESkipSuccess != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	e.mark |= notifies
	if e.Ioprio&^known != 0 || e.badAddress() || e.Opcode == uring.OpSendmsgZC && e.Ioprio&uring.RecvsendFixedBuf != 0 {
		r.fail(i, unix.EINVAL)
		return
	}
	if errno := r.arm(e.Fd, false); errno != 0 {
		if errno == unix.EPERM {
			errno = unix.ENOTSOCK // every socket can be polled
		}
		r.fail(i, errno)
		return
	}
	switch f := r.files.at(e.Fd); {
	case f.kind == other:
		r.fail(i, unix.ENOTSOCK)
	case f.state&zerocopy == 0:
		r.fail(i, unix.EOPNOTSUPP)
	default:
		r.tryOut(i, e.OpFlags&unix.MSG_DONTWAIT != 0)
	}
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
