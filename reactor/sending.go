package reactor

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sending is what the operations that send have in common: how they go on after a part.
//
// Mostly the ring does that (MSG_WAITALL). But io_uring cannot wait for room on a socket whose peer has
// ended its direction: the end counts as readiness, so the entry is tried again and again, and at last
// given up with EAGAIN, or blocks one of the ring's few worker threads for as long as the peer likes. Once the end is
// known each try on such a socket returns at once (MSG_DONTWAIT), and a poll waits for room.
type sending struct {
	single[int]
	sent  int
	waits waiting
}

// start publishes the operation, whose first entry is prepared.
func (o *sending) start(run operation) {
	if s := o.on; s.sending == nil {
		s.sending = &o.op
	}
	o.single.start(run, o.r.Env())
}

// sendFlags are those of a send that is to send all, or what it can.
func (o *sending) sendFlags(all bool) int {
	switch {
	case o.on.peerEnded:
		return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
	case all:
		return unix.MSG_NOSIGNAL | unix.MSG_WAITALL
	}
	return unix.MSG_NOSIGNAL
}

// item takes in an event of the poll.
func (o *sending) item(res int32, _ uint32) { o.waits.item(&o.op, res) }

// polled deals with the completion of a poll. op is the operation, whose prep fills the entry for the rest.
func (o *sending) polled(op interface{ prep() }) bool {
	switch {
	case !o.waits.polls():
		return false
	case !o.waits.answered(&o.op, o.on):
	case o.over():
		o.res = -int32(syscall.ECANCELED)
		o.end()
	default:
		op.prep()
		o.arm()
	}
	return true
}

// took counts what a completion says was sent.
func (o *sending) took() int {
	n := int(max(o.res, 0))
	o.sent += n
	return n
}

// goOn decides what follows a completion that leaves something to be sent. op is as of polled.
func (o *sending) goOn(op interface{ prep() }) {
	errno := syscall.Errno(max(-o.res, 0))
	switch {
	case o.over():
		if errno == syscall.EAGAIN {
			o.res = -int32(syscall.ECANCELED)
		}
		o.end()
		return
	case errno == syscall.EAGAIN, errno == 0 && o.on.peerEnded:
		o.waits.poll(&o.op, o.on, unix.POLLOUT)
	case errno == 0, errno == syscall.ECANCELED, errno == syscall.EINTR: // taken back because the peer has ended
		op.prep()
	default:
		o.end()
		return
	}
	o.arm()
}

// end completes with what was sent, or why nothing more could be.
func (o *sending) end() {
	o.forget()
	o.completePart(o.sent, o.sent != 0)
}

// forget makes the socket forget that the operation is sending.
func (o *sending) forget() {
	if s := o.on; s.sending == &o.op {
		s.sending = nil
	}
}

// sawEnd is called when a receive of no bytes has found the peer's end, or was it a datagram of none.
func (d *Descriptor) sawEnd() {
	if !d.peerEnded && d.ended() {
		d.noteEnd()
	}
}

// noteEnd notes that the peer has sent its end.
func (d *Descriptor) noteEnd() {
	if d.peerEnded {
		return
	}
	d.peerEnded = true
	if d.sending != nil {
		d.sending.disarm() // it goes on in the other way
	}
}
