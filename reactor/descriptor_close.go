//go:build linux

package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
)

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
type CloseOp struct {
	joinOp
	event *Event
}

// Start begins to close. It may be called again after each completion.
func (o *CloseOp) Start() {
	if o.beginJoin(o); o.event != nil {
		o.event.silence()
	}
	d := o.target
	if d.state >= descriptorClosing {
		o.ready(outcome{kind: outcomeClosed})
		return
	}
	if q := d.joining; q != nil { // it quiesces, in vain
		d.joining = nil
		q.ready(outcome{kind: outcomeClosed})
	}
	o.join(descriptorClosing)
}

func (o *CloseOp) onCompletion(out outcome) {
	if out.kind != outcomeClosed { // else it was closing already
		if o.latecomers(out) {
			return
		}
		o.target.state, o.target.fd = descriptorClosed, -1
	}
	o.complete(struct{}{}, out)
}

// QuiesceSender joins the operations of a descriptor. See [Descriptor.Quiesce].
type QuiesceSender struct {
	affine
	d *Descriptor
}

// Quiesce returns a sender that cancels and joins what is in flight on the descriptor as [Descriptor.Close] does, and
// leaves it open: then it can be given away, with [Descriptor.Dup] or [Socket.MoveTo], or used as before. Operations
// that end because of it, and those that are started before it completes, complete with their result if they had one,
// else stopped.
//
// It completes with a value; or with net.ErrClosed if the descriptor is being closed, before or meanwhile. It cannot be
// stopped. A descriptor is quiesced once at a time: a second one completes with EBUSY.
func (d *Descriptor) Quiesce() QuiesceSender { return QuiesceSender{d: d} }

// Connect implements [sender.Sender].
func (c QuiesceSender) Connect(op *QuiesceOp, r sender.Receiver[struct{}]) sender.Operation {
	op.loop, op.target, op.r = c.d.loop, c.d, r
	return op
}

// QuiesceOp is the operation state of [Descriptor.Quiesce]. The descriptor does not count it.
type QuiesceOp struct{ joinOp }

// Start begins to join. It may be called again after each completion.
func (o *QuiesceOp) Start() {
	o.beginJoin(o)
	switch d := o.target; d.state {
	case descriptorOpen:
		o.join(descriptorQuiescing)
	case descriptorQuiescing:
		o.ready(failure(syscall.EBUSY))
	default:
		o.ready(outcome{kind: outcomeClosed})
	}
}

func (o *QuiesceOp) onCompletion(out outcome) {
	switch d := o.target; {
	case !out.done():
	case d.state != descriptorQuiescing: // a close has begun since it joined the last operation
		out = outcome{kind: outcomeClosed}
	case o.latecomers(out):
		return
	default:
		d.state = descriptorOpen
	}
	o.complete(struct{}{}, out)
}

// joinOp joins what is in flight on its target: the part common to CloseOp and QuiesceOp. While there is something, it
// is dormant.
type joinOp struct {
	single[struct{}]
	target *Descriptor
}

// beginJoin does the first part of a Start: it takes a slot.
func (o *joinOp) beginJoin(run operation) {
	_ = o.env() // a join has no use for it, but there must be a receiver
	o.loop.assertOnThread()
	o.target.assertUsable(o.loop, run)
	o.takeSlot(run)
}

// join cancels what is in flight, and enters a state in which nothing more is armed.
func (o *joinOp) join(enter descriptorState) {
	d := o.target
	d.state = enter
	if d.pending == 0 {
		o.joined()
		return
	}
	d.joining, o.state = o, opDormant
	d.cancel()
}

// joined lets the join proceed, now that nothing is in flight on the descriptor.
func (o *joinOp) joined() {
	d := o.target
	if d.joining = nil; d.state == descriptorQuiescing {
		o.ready(outcome{kind: outcomeDone})
		return
	}
	d.disown()
	o.sqe.PrepClose(int(d.fd))
	o.arm()
}

// latecomers reports whether operations were started since the last one was joined. They are ready to complete, and
// then this one is.
func (o *joinOp) latecomers(out outcome) bool {
	if o.target.pending == 0 {
		return false
	}
	o.ready(outcome{res: out.res, kind: out.kind})
	return true
}

// cancel does nothing: a join is carried out.
func (o *joinOp) cancel() {}
