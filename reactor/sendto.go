package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// sendToSender sends a datagram. See Socket.SendTo.
type sendToSender struct {
	affine
	s   *Socket
	buf []byte
	to  Address
}

// SendTo is a sender of the number of bytes of a datagram that was sent to an address, which is all of buf: what
// is too long fails with EMSGSIZE. If to is zero it goes where the socket is connected to. Several may be in flight
// at a time. buf must be on the heap or mapped, and belongs to the operation from Start until it completes.
//
// That it was sent does not say that it arrives. That there is nobody is told to a connected socket, by
// ECONNREFUSED of its next operation. See udp(7).
//
// Kernel operation: IORING_OP_SEND with an address where the ring has that, else IORING_OP_SENDMSG; sendto(2).
func (s *Socket) SendTo(buf []byte, to Address) sendToSender {
	return sendToSender{s: s, buf: buf, to: to}
}

// Connect prepares op.
func (c sendToSender) Connect(op *SendToOp, r sender.Receiver[int]) sender.Operation {
	op.buf, op.to = c.buf, c.to
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// SendToOp is the operation state of SendTo.
type SendToOp struct {
	sending
	buf []byte
	to  Address
	iov unix.Iovec // for rings whose sends take no address
	msg unix.Msghdr
}

// Start begins to send. It may be called again after each completion.
func (o *SendToOp) Start() {
	o.sent = 0
	o.prep()
	o.start(o)
}

func (o *SendToOp) prep() {
	p, flags := unsafe.SliceData(o.buf), o.sendFlags(false)
	if o.to.n == 0 || o.loop.sendTo {
		o.sqe.PrepSend(int(o.on.fd), unsafe.Pointer(p), uint32(min(len(o.buf), maxTransfer)), flags)
		if o.to.n != 0 {
			o.sqe.To(o.to.pointer(), uint16(o.to.n))
		}
		return
	}
	o.iov.Base = p
	o.iov.SetLen(len(o.buf))
	o.msg = unix.Msghdr{Name: (*byte)(o.to.pointer()), Namelen: o.to.n, Iov: &o.iov}
	o.msg.SetIovlen(1)
	o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), flags)
}

func (o *SendToOp) finish() {
	if o.polled(o) {
		return
	}
	o.took()
	if o.res >= 0 {
		o.end()
		return
	}
	o.goOn(o)
}
