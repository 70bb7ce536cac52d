//go:build linux

package uring

import "golang.org/x/sys/unix"

// directSend is a send that Push makes by send(2). A send that is the only entry to be submitted would have a system
// call to itself anyway, and its completion would take another turn of the caller's loop; send(2) is cheaper, and its
// result is there immediately. Between two calls of Enter there is at most one, so that a caller who sends without end
// still enters the ring.
type directSend struct {
	entered bool // Enter was called since the last direct send
	state   directState
	sent    int32  // directPartial: the bytes that were sent
	rest    uint64 // directPartial: the user_data of the entry
	cqe     CQE    // directDone: the completion
}

// directState says what has become of the last direct send.
//
//	none    → done     the send has completed
//	none    → partial  a send that must be whole (MSG_WAITALL) found room for a part; the rest was queued as an entry
//	done    → none     Pop has returned its completion
//	partial → none     Pop has returned the completion of the entry
//	none    → off      the ring may not send: see Restrict
type directState uint8

const (
	directNone directState = iota
	directDone
	directPartial
	directOff
)

// sendNow makes a direct send if it may, and reports whether nothing of the send is left to be queued.
func (r *Ring) sendNow(sqe *SQE) bool {
	d := &r.direct
	if d.state != directNone || r.sqTail != r.sqHead || r.ready() || len(r.backlog) != 0 || !plainSend(sqe) {
		return false
	}
	d.entered = false
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(sqe.Fd), uintptr(sqe.Addr), uintptr(sqe.Len),
		uintptr(sqe.OpFlags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL), 0, 0)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return false
	case errno != 0:
		d.state, d.cqe = directDone, CQE{UserData: sqe.UserData, Res: -int32(errno)}
	case uint32(n) < sqe.Len && sqe.OpFlags&unix.MSG_WAITALL != 0:
		d.state, d.sent, d.rest = directPartial, int32(n), sqe.UserData
		rest := *sqe
		rest.Addr += uint64(n)
		rest.Len -= uint32(n)
		r.put(&rest)
	default:
		d.state, d.cqe = directDone, CQE{UserData: sqe.UserData, Res: int32(n)}
	}
	return true
}

// plainSend reports whether an entry sends memory to the peer of a socket, without anything special.
func plainSend(sqe *SQE) bool {
	return sqe.Opcode == OpSend && sqe.Flags == 0 && sqe.Ioprio == 0 && sqe.Off == 0 && sqe.FileIndex == 0 &&
		sqe.Personality == 0
}

// addSent adds the bytes of a partial direct send to the completion of its rest.
func (d *directSend) addSent(cqe *CQE) {
	if cqe.UserData == d.rest {
		cqe.Res = d.sent + max(cqe.Res, 0)
		d.state = directNone
	}
}
