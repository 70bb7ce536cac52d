package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// pollSender waits for readiness. See Descriptor.Poll.
type pollSender struct {
	affine
	d      *Descriptor
	events uint32
}

// Poll is a sender of the events (unix.POLLIN, unix.POLLOUT, …) that hold, once one of those asked for,
// POLLERR or POLLHUP does. The socket may be any descriptor that poll(2) takes.
//
// Kernel operation: IORING_OP_POLL_ADD, with IORING_POLL_ADD_MULTI while nothing holds but the peer's end.
func (d *Descriptor) Poll(events uint32) pollSender { return pollSender{d: d, events: events} }

// Connect prepares op.
func (c pollSender) Connect(op *PollOp, r sender.Receiver[uint32]) sender.Operation {
	op.events = c.events
	op.loop, op.on, op.r = c.d.loop, c.d, r
	return op
}

// PollOp is the operation state of Poll.
type PollOp struct {
	single[uint32]
	events uint32
	waits  waiting
}

// Start begins to wait. It may be called again after each completion.
func (o *PollOp) Start() {
	o.waits.poll(&o.op, o.on, o.events)
	o.start(o, o.r.Env())
}

func (o *PollOp) item(res int32, _ uint32) { o.waits.item(&o.op, res) }

func (o *PollOp) finish() {
	if o.waits.answered(&o.op, o.on) {
		o.complete(uint32(o.res))
	}
}

// pollManySender waits for readiness again and again. See Descriptor.PollMany.
type pollManySender struct {
	affine
	d      *Descriptor
	events uint32
}

// PollMany is a sequence of the events that hold when something happens on the socket: those asked for,
// POLLERR, POLLHUP and POLLRDHUP. The first item may be what holds already; after that, what has not
// changed is not told again. It ends by a stop, a close or an error. It takes nothing from the socket, so there may
// be several, and other sequences beside them.
//
// Kernel operation: IORING_OP_POLL_ADD with IORING_POLL_ADD_MULTI.
func (d *Descriptor) PollMany(events uint32) pollManySender {
	return pollManySender{d: d, events: events}
}

// Connect prepares op.
func (c pollManySender) Connect(op *PollManyOp, r seq.Receiver[uint32]) sender.Operation {
	op.sqe.PrepPollMultishot(int(c.d.fd), c.events)
	op.loop, op.on, op.r = c.d.loop, c.d, r
	return op
}

// PollManyOp is the operation state of PollMany.
type PollManyOp struct{ sequence[uint32] }

// Start begins to wait.
func (o *PollManyOp) Start() { o.op.start(o, o.r.Env()) }

func (o *PollManyOp) item(res int32, _ uint32) { o.r.SetNext(uint32(res)) }

func (o *PollManyOp) finish() {
	if o.res >= 0 {
		ready := uint32(o.res)
		o.beginLast(syscall.EAGAIN)
		o.r.SetNext(ready)
		o.endLast()
	}
	if o.res == -int32(syscall.EAGAIN) {
		if !o.over() {
			o.arm() // the ring has ended it for reasons of its own
			return
		}
		o.res = -int32(syscall.ECANCELED)
	}
	o.end()
}
