package reactor

import (
	"syscall"

	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// sending is what the operations that send have in common: how they go on after a part.
//
// Mostly the ring does that (MSG_WAITALL). But io_uring cannot wait for room on a socket whose peer has
// ended its direction: the end counts as readiness, so the entry is tried again and again, and at last
// blocks one of the ring's few worker threads for as long as the peer likes. On such a socket each try
// returns at once (MSG_DONTWAIT), and a multishot poll, which tells what has changed only, waits for
// room.
type sending struct {
	single[int]
	sent  int
	waits bool // the entry is the poll
}

// start publishes the operation, whose first entry is prepared.
func (o *sending) start(run operation) {
	if s := o.on; s.sending == nil {
		s.sending = &o.Op
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
func (o *sending) item(res int32, _ uint32) {
	if uint32(res)&(unix.POLLOUT|unix.POLLERR|unix.POLLHUP) != 0 {
		o.disarm()
	}
}

// took counts what a completion says was sent.
func (o *sending) took() int {
	if o.waits || o.res <= 0 {
		return 0
	}
	o.sent += int(o.res)
	return int(o.res)
}

// goOn decides what follows a completion that leaves something to be sent. op is the operation, whose prep fills the
// entry for the rest.
func (o *sending) goOn(op interface{ prep() }) {
	errno := syscall.Errno(max(-o.res, 0))
	polled := o.waits
	o.waits = false
	switch {
	case o.over():
		if polled || errno == syscall.EAGAIN {
			o.res = -int32(syscall.ECANCELED)
		}
		o.end()
		return
	case polled, errno == syscall.ECANCELED, errno == syscall.EINTR: // there may be room; taken back because the peer has ended
	case errno != 0 && errno != syscall.EAGAIN:
		o.end()
		return
	case o.on.peerEnded:
		o.waits = true
		o.sqe.PrepPollMultishot(int(o.on.fd), unix.POLLOUT)
		o.arm()
		return
	}
	op.prep()
	if errno == syscall.EAGAIN && !o.on.peerEnded { // there was no room: wait first
		o.sqe.Ioprio |= uring.RecvsendPollFirst
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
	if s := o.on; s.sending == &o.Op {
		s.sending = nil
	}
}

// sawEnd is called when a receive of no bytes has found the peer's end, or was it a datagram of none.
func (d *Descriptor) sawEnd() {
	if d.peerEnded || !d.ended() {
		return
	}
	d.peerEnded = true
	if d.sending != nil {
		d.sending.disarm() // it goes on in the other way
	}
}
