package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// PollSender waits for readiness. See Descriptor.Poll.
type PollSender struct {
	affine
	d      *Descriptor
	events uint32
}

// Poll is a sender of the events (unix.POLLIN, unix.POLLOUT, …) that hold, once one of those asked for,
// POLLERR or POLLHUP does. The socket may be any descriptor that poll(2) takes.
//
// Kernel operation: IORING_OP_POLL_ADD.
func (d *Descriptor) Poll(events uint32) PollSender { return PollSender{d: d, events: events} }

// Connect prepares op.
func (c PollSender) Connect(op *PollOp, r sender.Receiver[uint32]) {
	op.sqe.PrepPollAdd(int(c.d.fd), c.events)
	op.loop, op.on, op.r = c.d.loop, c.d, r
}

// PollOp is the operation state of Poll.
type PollOp struct{ single[uint32] }

// Start begins to wait. It may be called again after each completion.
func (o *PollOp) Start() { o.start(o, o.r.Env()) }

func (o *PollOp) finish() {
	o.complete(uint32(o.res))
}

// PollManySender waits for readiness again and again. See Descriptor.PollMany.
type PollManySender struct {
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
func (d *Descriptor) PollMany(events uint32) PollManySender {
	return PollManySender{d: d, events: events}
}

// Connect prepares op.
func (c PollManySender) Connect(op *PollManyOp, r seq.Receiver[uint32]) {
	op.sqe.PrepPollMultishot(int(c.d.fd), c.events)
	op.loop, op.on, op.r = c.d.loop, c.d, r
}

// PollManyOp is the operation state of PollMany.
type PollManyOp struct{ sequence[uint32] }

// Start begins to wait.
func (o *PollManyOp) Start() { o.Op.start(o, o.r.Env()) }

func (o *PollManyOp) item(res int32, _ uint32) { o.r.SetNext(uint32(res)) }

func (o *PollManyOp) finish() {
	if o.res >= 0 {
		o.r.SetNext(uint32(o.res))
		if !o.over() {
			o.arm() // the ring has ended it for reasons of its own
			return
		}
		o.res = -int32(syscall.ECANCELED)
	}
	o.end()
}
