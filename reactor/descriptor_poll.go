//go:build linux

package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// PollSender waits for readiness. See [Descriptor.Poll].
type PollSender struct {
	affine
	d      *Descriptor
	events uint32
}

// Poll returns a sender that waits until one of the events (unix.POLLIN, unix.POLLOUT, …), POLLERR or POLLHUP holds,
// and completes with those that do. The descriptor may be any that poll(2) takes.
//
// Kernel operation: IORING_OP_POLL_ADD, with IORING_POLL_ADD_MULTI while nothing holds but that the peer closed its
// write side.
func (d *Descriptor) Poll(events uint32) PollSender { return PollSender{d: d, events: events} }

// Connect implements [sender.Sender].
func (c PollSender) Connect(op *PollOp, r sender.Receiver[uint32]) sender.Operation {
	op.events = c.events
	op.policy, op.loop, op.on, op.r = policyPoll, c.d.loop, c.d, r
	return op
}

// PollOp is the operation state of [Descriptor.Poll].
type PollOp struct {
	single[uint32]
	events uint32
}

// Start begins to wait. It may be called again after each completion.
func (o *PollOp) Start() {
	env := o.env()
	o.poll(o.on, o.events)
	o.start(o, env)
}

func (o *PollOp) onCompletion(out outcome) { o.complete(uint32(out.res), out) }

// PollManySender waits for readiness again and again. See [Descriptor.PollMany].
type PollManySender struct {
	affine
	d      *Descriptor
	events uint32
}

// PollMany returns a sequence of the events that hold when something happens on the descriptor: those asked for,
// POLLERR, POLLHUP and POLLRDHUP. The first item may report what holds already; later items report changes only. It
// ends by a stop, a close or an error. It takes nothing from the descriptor, so several may run, next to other
// sequences.
//
// Kernel operation: IORING_OP_POLL_ADD with IORING_POLL_ADD_MULTI.
func (d *Descriptor) PollMany(events uint32) PollManySender {
	return PollManySender{d: d, events: events}
}

// Connect implements [sender.Sender].
func (c PollManySender) Connect(op *PollManyOp, r seq.Receiver[uint32]) sender.Operation {
	op.sqe.PrepPollMultishot(int(c.d.fd), c.events)
	op.policy, op.loop, op.on, op.r = policyPollMany, c.d.loop, c.d, r
	return op
}

// PollManyOp is the operation state of [Descriptor.PollMany].
type PollManyOp struct{ sequence[uint32] }

// Start begins to wait. It may be called again after each completion.
func (o *PollManyOp) Start() { o.start(o, o.env()) }

// prep leaves the entry as it is.
func (o *PollManyOp) prep() bool { return true }

func (o *PollManyOp) onCompletion(out outcome) {
	switch {
	case out.more():
		o.r.SetNext(uint32(out.res))
	case out.done(): // the ring has ended it unasked
		o.beginDelivery()
		o.r.SetNext(uint32(out.res))
		o.endDelivery()
		o.proceed(o)
	default:
		o.complete(out)
	}
}
