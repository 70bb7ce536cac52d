package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// CloseSender closes a descriptor. See Descriptor.Close.
type CloseSender struct {
	affine
	d *Descriptor
}

// Close is a sender that ends the descriptor: what is in flight on it is cancelled and joined, and only
// then is the descriptor closed. Operations that end because of it complete with their result if they
// had one, else with net.ErrClosed.
//
// It completes with a value; with net.ErrClosed if the socket was closing already; or with close(2)'s
// error, after which the descriptor is gone nevertheless. It cannot be stopped, and it works while the
// loop drains.
func (d *Descriptor) Close() CloseSender { return CloseSender{d: d} }

// Connect prepares op.
func (c CloseSender) Connect(op *CloseOp, r sender.Receiver[struct{}]) {
	op.loop, op.target, op.r = c.d.loop, c.d, r
}

// CloseOp is the operation state of Close.
type CloseOp struct {
	single[struct{}]
	target *Descriptor
	phase  closePhase
}

// closePhase is where a close stands.
type closePhase uint8

const (
	closeRefused closePhase = iota // it was closing already
	closeCancels                   // the cancel of everything on the descriptor is out
	closeJoins                     // some of it is still in flight
	closeForGood                   // the close itself is out
)

// Start begins to close.
func (o *CloseOp) Start() {
	l, d := o.loop, o.target
	if debug {
		o.assertStartable(o)
	}
	o.id = l.slots.take(o, &o.Op)
	switch {
	case d.state != descriptorOpen:
		o.phase = closeRefused
		o.ready(0)
	case d.pending == 0:
		d.state = descriptorClosing
		o.closeNow()
	default:
		d.state, d.closer = descriptorClosing, o
		o.phase = closeCancels
		l.closes++
		o.sqe.PrepCancelFd(int(d.fd), uring.CancelAll)
		o.arm()
		// What is dormant the ring does not find.
		if d.source != nil {
			d.source.cancel()
		}
		l.buffers.cancelWaiting(d)
		if d.hidden != 0 {
			d.cancelHidden()
		}
	}
}

// joined is called when nothing is in flight on the descriptor any more.
func (o *CloseOp) joined() {
	if o.phase == closeJoins {
		o.closeNow()
	}
}

func (o *CloseOp) closeNow() {
	o.target.closer = nil
	o.phase = closeForGood
	o.sqe.PrepClose(int(o.target.fd))
	o.arm()
}

// cancel does nothing: a close goes through.
func (o *CloseOp) cancel() {}

func (o *CloseOp) finish() {
	d := o.target
	switch o.phase {
	case closeRefused:
		o.release()
		o.r.SetError(errClosed)
	case closeCancels:
		if o.phase = closeJoins; d.pending == 0 {
			o.closeNow()
		}
	case closeForGood:
		if d.pending != 0 { // started meanwhile: ready to fail, ahead of us
			o.ready(o.res)
			return
		}
		d.state, d.fd = descriptorClosed, -1
		o.release()
		if o.res < 0 {
			o.r.SetError(syscall.Errno(-o.res))
		} else {
			o.r.SetValue(struct{}{})
		}
	}
}
