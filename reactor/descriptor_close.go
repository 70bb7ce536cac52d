//go:build linux

package reactor

import "github.com/reactord/reactord/sender"

// CloseSender closes a descriptor. See [Descriptor.Close].
type CloseSender struct {
	affine
	d *Descriptor
	e *Event // that owns the descriptor, or nil
}

// Close returns a sender that cancels and joins what is in flight on the descriptor, and only then closes it.
// Operations that end because of it complete with their result if they had one, else with net.ErrClosed.
//
// It completes with a value; with net.ErrClosed if the descriptor was being closed already; or with close(2)'s error,
// after which the descriptor is closed nevertheless. It cannot be stopped, and it works while the loop drains.
func (d *Descriptor) Close() CloseSender { return CloseSender{d: d} }

// Connect implements [sender.Sender].
func (c CloseSender) Connect(op *CloseOp, r sender.Receiver[struct{}]) sender.Operation {
	op.loop, op.target, op.event, op.r = c.d.loop, c.d, c.e, r
	return op
}

// CloseOp is the operation state of [Descriptor.Close]. The descriptor does not count it.
//
// If operations are in flight on the descriptor it is dormant until they have completed (see joined), and then armed.
type CloseOp struct {
	single[struct{}]
	target *Descriptor
	event  *Event
}

// Start begins to close. It may be called again after each completion.
func (o *CloseOp) Start() {
	d := o.target
	_ = o.env() // a close has no use for it, but there must be a receiver
	o.loop.assertOnThread()
	d.assertUsable(o.loop, o)
	o.takeSlot(o)
	if o.event != nil {
		o.event.silence()
	}
	if d.state != descriptorOpen {
		o.ready(outcome{kind: outcomeClosed})
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

// joined lets the close proceed, now that nothing is in flight on the descriptor.
func (o *CloseOp) joined() {
	o.target.closer = nil
	o.target.disown()
	o.sqe.PrepClose(int(o.target.fd))
	o.arm()
}

// cancel does nothing: a close is carried out.
func (o *CloseOp) cancel() {}

func (o *CloseOp) onCompletion(out outcome) {
	switch d := o.target; {
	case out.kind == outcomeClosed: // it was closing already
	case d.pending != 0: // started meanwhile: they are ready to fail, ahead of this
		o.ready(outcome{res: out.res, kind: out.kind})
		return
	default:
		d.state, d.fd = descriptorClosed, -1
	}
	o.complete(struct{}{}, out)
}
