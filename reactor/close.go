package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// CloseSender closes a socket. See Socket.Close.
type CloseSender struct{ s *Socket }

// Close is a sender that ends the socket: what is in flight on it is cancelled and joined, and only
// then is the descriptor closed. Operations that end because of it complete with their result if they
// had one, else with net.ErrClosed.
//
// It completes with a value; with net.ErrClosed if the socket was closing already; or with close(2)'s
// error, after which the descriptor is gone nevertheless. It cannot be stopped, and it works while the
// loop drains.
func (s *Socket) Close() CloseSender { return CloseSender{s} }

// Connect prepares op.
func (c CloseSender) Connect(op *CloseOp, r sender.Receiver[struct{}]) {
	op.loop, op.target, op.r = c.s.loop, c.s, r
}

// CloseOp is the operation state of Close.
type CloseOp struct {
	single[struct{}]
	target *Socket
	phase  closePhase
}

// closePhase is where a close stands.
type closePhase uint8

const (
	closeRefused   closePhase = iota // it was closing already
	closeCancels                     // the cancel of everything on the descriptor is out
	closeJoins                       // some of it is still in flight
	closeTheSocket                   // the close itself is out
)

// Start begins to close.
func (o *CloseOp) Start() {
	l, s := o.loop, o.target
	if debug {
		o.assertStartable(o)
	}
	o.id = l.slots.take(o, &o.Op)
	switch {
	case s.state != socketOpen:
		o.phase = closeRefused
		o.ready(0)
	case s.pending == 0:
		s.state = socketClosing
		o.closeNow()
	default:
		s.state, s.closer = socketClosing, o
		o.phase = closeCancels
		o.sqe.PrepCancelFd(int(s.fd), uring.CancelAll)
		o.arm()
		// What is dormant the ring does not find.
		if s.source != nil {
			s.source.cancel()
		}
		l.buffers.cancelWaiting(s)
	}
}

// joined is called when nothing is in flight on the socket any more.
func (o *CloseOp) joined() {
	if o.phase == closeJoins {
		o.closeNow()
	}
}

func (o *CloseOp) closeNow() {
	o.target.closer = nil
	o.phase = closeTheSocket
	o.sqe.PrepClose(int(o.target.fd))
	o.arm()
}

// cancel does nothing: a close goes through.
func (o *CloseOp) cancel() {}

func (o *CloseOp) finish() {
	s := o.target
	switch o.phase {
	case closeRefused:
		o.release()
		o.r.SetError(errClosed)
	case closeCancels:
		if o.phase = closeJoins; s.pending == 0 {
			o.closeNow()
		}
	case closeTheSocket:
		if s.pending != 0 { // started meanwhile: ready to fail, ahead of us
			o.ready(o.res)
			return
		}
		s.state, s.fd = socketClosed, -1
		o.release()
		if o.res < 0 {
			o.r.SetError(syscall.Errno(-o.res))
		} else {
			o.r.SetValue(struct{}{})
		}
	}
}
