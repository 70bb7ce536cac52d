package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// SendSender sends the caller's bytes. See Socket.Send and Socket.SendAll.
type SendSender struct {
	affine
	s   *Socket
	buf []byte
	all bool
}

// Send is a sender of the number of bytes of buf that were sent, which may be fewer than all. buf must
// be on the heap or mapped, and belongs to the operation from Start until it completes. It never
// raises SIGPIPE.
//
// Kernel operation: IORING_OP_SEND, send(2).
func (s *Socket) Send(buf []byte) SendSender { return SendSender{s: s, buf: buf} }

// SendAll is as Send, but completes when all of buf has been sent, or with an error. If it is stopped,
// or its socket closed, when a part has been sent, it completes with the length of that part.
func (s *Socket) SendAll(buf []byte) SendSender { return SendSender{s: s, buf: buf, all: true} }

// Connect prepares op.
func (c SendSender) Connect(op *SendOp, r sender.Receiver[int]) sender.Operation {
	op.buf, op.all = c.buf, c.all
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// SendOp is the operation state of Send and SendAll.
type SendOp struct {
	sending
	buf []byte
	all bool
}

// Start begins to send. It may be called again after each completion.
func (o *SendOp) Start() {
	o.sent = 0
	o.prep()
	o.start(o)
}

// prep fills the entry for what is left.
func (o *SendOp) prep() {
	rest := o.buf[o.sent:]
	o.sqe.PrepSend(int(o.on.fd), unsafe.Pointer(unsafe.SliceData(rest)), uint32(min(len(rest), maxTransfer)), o.sendFlags(o.all))
}

func (o *SendOp) finish() {
	if o.polled(o) {
		return
	}
	o.took()
	if o.sent == len(o.buf) && o.res >= 0 || o.sent != 0 && !o.all {
		o.end()
		return
	}
	o.goOn(o)
}

// sendvSender sends several pieces of memory as one. See Socket.Sendv.
type sendvSender struct {
	affine
	s    *Socket
	bufs [][]byte
}

// Sendv is a sender of the number of bytes sent, which is that of all of bufs, in order; else it is as
// SendAll. The slice bufs is read by Connect and not kept. At most 1024 pieces.
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) Sendv(bufs [][]byte) sendvSender { return sendvSender{s: s, bufs: bufs} }

// Connect prepares op.
func (c sendvSender) Connect(op *SendvOp, r sender.Receiver[int]) sender.Operation {
	op.set(c.bufs)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// SendvOp is the operation state of Sendv. Once connected, Reset and Add change what its next Start
// sends.
type SendvOp struct {
	sending
	pieces
	msg unix.Msghdr
}

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendvOp) Start() {
	o.sent = 0
	o.rewind()
	o.prep()
	o.start(o)
}

// prep fills the entry for what is left: a plain send for one piece, which is cheaper.
func (o *SendvOp) prep() {
	flags := o.sendFlags(true)
	switch rest := o.rest(); len(rest) {
	case 0:
		o.sqe.PrepSend(int(o.on.fd), nil, 0, flags)
	case 1:
		o.sqe.PrepSend(int(o.on.fd), unsafe.Pointer(rest[0].Base), uint32(min(rest[0].Len, maxTransfer)), flags)
	default:
		o.describe(&o.msg)
		o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), flags)
	}
}

func (o *SendvOp) finish() {
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
