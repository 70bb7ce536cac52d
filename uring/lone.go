package uring

import "golang.org/x/sys/unix"

// lone is a send that was made by send(2). A send that nothing else is to be submitted with would have an enter to
// itself, and its completion a turn of the caller's loop; a call of its own is cheaper, and its result is there at once.
// There is one between two enters at most, so that a caller who sends on and on enters the ring all the same.
type lone struct {
	allowed bool
	done    bool // cqe is to be popped
	parted  bool // room was found for a part of a send that must be whole (MSG_WAITALL); the rest is an entry
	sent    int32
	rest    uint64 // the user_data of that entry
	cqe     CQE
}

// sendNow makes a send that is alone, and reports whether there is nothing left of it to be queued.
func (r *Ring) sendNow(sqe *SQE) bool {
	l := &r.lone
	if l.parted || r.sqTail != r.sqHead || r.ready() || len(r.backlog) != 0 || !plainSend(sqe) {
		return false
	}
	l.allowed = false
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(sqe.Fd), uintptr(sqe.Addr), uintptr(sqe.Len),
		uintptr(sqe.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return false
	case errno != 0:
		l.cqe = CQE{UserData: sqe.UserData, Res: -int32(errno)}
	case uint32(n) < sqe.Len && sqe.OpFlags&unix.MSG_WAITALL != 0:
		l.parted, l.sent, l.rest = true, int32(n), sqe.UserData
		rest := *sqe
		rest.Addr += uint64(n)
		rest.Len -= uint32(n)
		r.put(&rest)
		return true
	default:
		l.cqe = CQE{UserData: sqe.UserData, Res: int32(n)}
	}
	l.done = true
	return true
}

// plainSend reports whether an entry sends memory to the peer of a socket, and is nothing else.
func plainSend(sqe *SQE) bool {
	return sqe.Opcode == OpSend && sqe.Flags == 0 && sqe.Ioprio == 0 && sqe.Off == 0 && sqe.FileIndex == 0 && sqe.Personality == 0
}

// whole adds to the completion of the rest of a send what was sent of it before.
func (l *lone) whole(cqe *CQE) {
	if cqe.UserData == l.rest {
		cqe.Res = l.sent + max(cqe.Res, 0)
		l.parted = false
	}
}
