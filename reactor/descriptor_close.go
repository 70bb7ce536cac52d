package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
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
func (c CloseSender) Connect(op *CloseOp, r sender.Receiver[struct{}]) sender.Operation {
	op.loop, op.target, op.r = c.d.loop, c.d, r
	return op
}

// CloseOp is the operation state of Close.
type CloseOp struct {
	single[struct{}]
	target  *Descriptor
	refused bool // it was closing already
}

// Start begins to close.
func (o *CloseOp) Start() {
	d := o.target
	o.takeSlot(o)
	if o.refused = d.state != descriptorOpen; o.refused {
		o.ready(0)
		return
	}
	d.state = descriptorClosing
	if d.pending == 0 {
		o.joined()
		return
	}
	d.closer, o.state = o, opDormant
	d.cancel()
}

// joined is called when nothing is in flight on the descriptor any more.
func (o *CloseOp) joined() {
	o.target.closer = nil
	o.sqe.PrepClose(int(o.target.fd))
	o.arm()
}

// cancel does nothing: a close goes through.
func (o *CloseOp) cancel() {}

func (o *CloseOp) finish() {
	d := o.target
	if o.refused {
		o.release()
		o.r.SetError(errClosed)
		return
	}
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
