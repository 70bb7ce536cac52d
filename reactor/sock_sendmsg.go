package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// sendMsgSender sends a message. See Socket.SendMsg.
type sendMsgSender struct {
	affine
	s       *Socket
	bufs    [][]byte
	control []byte
	to      Address
}

// SendMsg is a sender of the number of bytes sent, which is that of all of bufs, in order, at most 1024 pieces,
// with control data (see AppendControl) or without (nil), to an address, or if that is zero where the socket is
// connected to. On a connection of the stream kind it is otherwise as SendAll, and the control data goes with the
// first bytes; on others it is one message, as SendTo. The slice bufs is read by Connect and not kept; the pieces
// and the control data must be on the heap or mapped and belong to the operation from Start until it completes.
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) SendMsg(bufs [][]byte, control []byte, to Address) sendMsgSender {
	return sendMsgSender{s: s, bufs: bufs, control: control, to: to}
}

// Connect prepares op.
func (c sendMsgSender) Connect(op *SendMsgOp, r sender.Receiver[int]) sender.Operation {
	op.set(c.bufs)
	op.control, op.to = c.control, c.to
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// SendMsgOp is the operation state of SendMsg. Once connected, Reset and Add change what its next Start sends,
// and SetControl and SetAddress what goes with it and where.
type SendMsgOp struct {
	sending
	pieces
	control []byte
	to      Address
	msg     unix.Msghdr
}

// SetControl changes the control data. The operation must be idle.
func (o *SendMsgOp) SetControl(control []byte) { o.control = control }

// SetAddress changes where it goes. The operation must be idle.
func (o *SendMsgOp) SetAddress(to Address) { o.to = to }

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendMsgOp) Start() {
	o.sent = 0
	o.rewind()
	o.prep()
	o.start(o)
}

func (o *SendMsgOp) prep() {
	o.msg = unix.Msghdr{Name: (*byte)(o.to.pointer()), Namelen: o.to.n}
	o.describe(&o.msg)
	if len(o.control) != 0 && o.sent == 0 {
		o.msg.Control = unsafe.SliceData(o.control)
		o.msg.SetControllen(len(o.control))
	}
	o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), o.sendFlags(true))
}

func (o *SendMsgOp) finish() {
	if o.polled(o) {
		return
	}
	o.advance(o.took())
	if o.left() == 0 && o.res >= 0 {
		o.end()
		return
	}
	o.goOn(o)
}
