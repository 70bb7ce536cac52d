package reactor

import "github.com/reactord/reactord/sender"

// PollSender waits for readiness. See Socket.Poll.
type PollSender struct {
	s      *Socket
	events uint32
}

// Poll is a sender of the events (unix.POLLIN, unix.POLLOUT, …) that hold, once one of those asked for,
// POLLERR or POLLHUP does. The socket may be any descriptor that poll(2) takes.
//
// Kernel operation: IORING_OP_POLL_ADD.
func (s *Socket) Poll(events uint32) PollSender { return PollSender{s, events} }

// Connect prepares op.
func (c PollSender) Connect(op *PollOp, r sender.Receiver[uint32]) {
	op.sqe.PrepPollAdd(int(c.s.fd), c.events)
	op.loop, op.socket, op.r = c.s.loop, c.s, r
}

// PollOp is the operation state of Poll.
type PollOp struct{ single[uint32] }

// Start begins to wait. It may be called again after each completion.
func (o *PollOp) Start() { o.start(o, o.r.Env()) }

func (o *PollOp) finish() {
	o.release()
	if o.res < 0 {
		o.fail()
		return
	}
	o.r.SetValue(uint32(o.res))
}
