//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// sendOp is the part common to operations that send on a socket: how they send the rest after a part.
//
// Mostly the ring does that (MSG_WAITALL). But io_uring cannot wait for room on a socket whose peer has closed its
// write side: this counts as readiness, so the entry is tried again and again, and at last completes with EAGAIN, or
// blocks one of the ring's few worker threads for as long as the peer likes. Once it is known that the peer has closed
// its write side, a send on the socket does not wait (MSG_DONTWAIT), and a poll waits for room.
//
// Nor does a send on a unix socket for datagrams. It needs room at the receiver, and when the kernel finds none it has
// taken the bytes out of the entry already: io_uring would then send an empty datagram. If the socket is not connected
// to the receiver, no poll waits for that room either: it reports room immediately, each time. So a send that still
// finds none backs off.
type sendOp struct {
	single[int]
	sent int
}

// sendFlags returns the flags of a send that is to send all, or what it can.
func (o *sendOp) sendFlags(all bool) int {
	switch {
	case o.on.peerEnded || o.on.queuesAtReceiver():
		return unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
	case all:
		return unix.MSG_NOSIGNAL | unix.MSG_WAITALL
	}
	return unix.MSG_NOSIGNAL
}

// sendRest sends what is left after a part.
func (o *sendOp) sendRest(run retryable) {
	if o.on.peerEnded && !o.over() {
		o.poll(o.on, unix.POLLOUT)
		o.arm()
		return
	}
	o.proceed(run)
}

// completeSent completes with what was sent, or why nothing more could be.
func (o *sendOp) completeSent(out outcome) { o.completePart(o.sent, out, o.sent != 0) }

// prepSend fills the entry with a plain send of one piece of memory.
func (o *sendOp) prepSend(p *byte, n, flags int) {
	o.sqe.PrepSend(int(o.on.fd), unsafe.Pointer(p), uint32(min(n, maxTransfer)), flags)
}

// gatherOp is a sendOp of several pieces of memory.
type gatherOp struct {
	sendOp
	mem pieces
	msg unix.Msghdr
}

// rewind starts from the first byte again.
func (o *gatherOp) rewind() {
	o.sent = 0
	o.mem.rewind()
}

// took counts what was sent, and reports whether that was all.
func (o *gatherOp) took(n int32) (all bool) {
	o.sent += int(n)
	o.mem.advance(int(n))
	return o.mem.left() == 0
}

// prepGather fills the entry for what is left: a plain send for one piece, which is cheaper.
func (o *gatherOp) prepGather(flags int) {
	switch rest := o.mem.rest(); len(rest) {
	case 0:
		o.prepSend(nil, 0, flags)
	case 1:
		o.prepSend(rest[0].Base, int(rest[0].Len), flags)
	default:
		o.msg = unix.Msghdr{}
		o.mem.describe(&o.msg)
		o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), flags)
	}
}

// SendSender sends the caller's bytes. See [Socket.Send] and [Socket.SendAll].
type SendSender struct {
	affine
	s   *Socket
	buf []byte
	all bool
}

// Send returns a sender that sends buf and completes with the number of bytes sent, which may be fewer than all. buf
// must be on the heap or mapped, and belongs to the operation from Start until it completes. It never raises SIGPIPE.
//
// Kernel operation: IORING_OP_SEND, send(2).
func (s *Socket) Send(buf []byte) SendSender { return SendSender{s: s, buf: buf} }

// SendAll sends as [Socket.Send] does, but completes when all of buf has been sent, or with an error. If it is stopped,
// or its socket closed, when a part has been sent, it completes with the length of that part (see
// [sender.PartialReceiver]).
func (s *Socket) SendAll(buf []byte) SendSender { return SendSender{s: s, buf: buf, all: true} }

// Connect implements [sender.Sender].
func (c SendSender) Connect(op *SendOp, r sender.Receiver[int]) sender.Operation {
	op.buf, op.all = c.buf, c.all
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, &c.s.Descriptor, r
	return op
}

// SendOp is the operation state of [Socket.Send] and [Socket.SendAll].
type SendOp struct {
	sendOp
	buf []byte
	all bool
}

// Start begins to send. It may be called again after each completion.
func (o *SendOp) Start() {
	env := o.env()
	o.sent = 0
	o.prep()
	o.start(o, env)
}

func (o *SendOp) prep() bool {
	rest := o.buf[o.sent:]
	o.prepSend(unsafe.SliceData(rest), len(rest), o.sendFlags(o.all))
	return true
}

func (o *SendOp) onCompletion(out outcome) {
	if out.done() {
		o.sent += int(out.res)
		if o.sent < len(o.buf) && (o.all || o.sent == 0) {
			o.sendRest(o)
			return
		}
	}
	o.completeSent(out)
}

// SendvSender sends several pieces of memory as one. See [Socket.Sendv].
type SendvSender struct {
	affine
	s    *Socket
	bufs [][]byte
}

// Sendv returns a sender that sends all of bufs, in order, and completes with the number of bytes; else it works as
// [Socket.SendAll]. The slice bufs is read by Connect and not kept. At most 1024 pieces.
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) Sendv(bufs [][]byte) SendvSender { return SendvSender{s: s, bufs: bufs} }

// Connect implements [sender.Sender].
func (c SendvSender) Connect(op *SendvOp, r sender.Receiver[int]) sender.Operation {
	op.mem.set(c.bufs)
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, &c.s.Descriptor, r
	return op
}

// SendvOp is the operation state of [Socket.Sendv]. Once connected, Reset and Add change what its next Start sends.
type SendvOp struct{ gatherOp }

// Reset empties the list of pieces. The operation must be idle.
func (o *SendvOp) Reset() {
	o.assertIdle("Reset")
	o.mem.reset()
}

// Add appends a piece. The operation must be idle.
func (o *SendvOp) Add(b []byte) {
	o.assertIdle("Add")
	o.mem.add(b)
}

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendvOp) Start() {
	env := o.env()
	o.rewind()
	o.prep()
	o.start(o, env)
}

func (o *SendvOp) prep() bool {
	o.prepGather(o.sendFlags(true))
	return true
}

func (o *SendvOp) onCompletion(out outcome) {
	if out.done() && !o.took(out.res) {
		o.sendRest(o)
		return
	}
	o.completeSent(out)
}

// SendToSender sends a datagram. See [Socket.SendTo].
type SendToSender struct {
	affine
	s   *Socket
	buf []byte
	to  Address
}

// SendTo returns a sender that sends all of buf to an address as a datagram and completes with the number of bytes: too
// many fail with EMSGSIZE. If to is zero it is sent where the socket is connected to. Several may be in flight at a
// time. buf must be on the heap or mapped, and belongs to the operation from Start until it completes.
//
// Success does not mean that it arrived. A connected socket learns that no process receives there by ECONNREFUSED of
// its next operation. See udp(7).
//
// Kernel operation: IORING_OP_SEND with an address where the ring has that, else IORING_OP_SENDMSG; sendto(2).
func (s *Socket) SendTo(buf []byte, to Address) SendToSender {
	return SendToSender{s: s, buf: buf, to: to}
}

// Connect implements [sender.Sender].
func (c SendToSender) Connect(op *SendToOp, r sender.Receiver[int]) sender.Operation {
	op.buf, op.to = c.buf, c.to
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, &c.s.Descriptor, r
	return op
}

// SendToOp is the operation state of [Socket.SendTo].
type SendToOp struct {
	sendOp
	buf []byte
	to  Address
	iov unix.Iovec // for rings whose sends take no address
	msg unix.Msghdr
}

// Start begins to send. It may be called again after each completion.
func (o *SendToOp) Start() {
	env := o.env()
	o.sent = 0
	o.prep()
	o.start(o, env)
}

func (o *SendToOp) prep() bool {
	p, flags := unsafe.SliceData(o.buf), o.sendFlags(false)
	if o.to.n == 0 || o.loop.sendTo {
		o.prepSend(p, len(o.buf), flags)
		if o.to.n != 0 {
			o.sqe.To(o.to.pointer(), uint16(o.to.n))
		}
		return true
	}
	o.iov.Base = p
	o.iov.SetLen(len(o.buf))
	o.msg = unix.Msghdr{Name: (*byte)(o.to.pointer()), Namelen: o.to.n, Iov: &o.iov}
	o.msg.SetIovlen(1)
	o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), flags)
	return true
}

func (o *SendToOp) onCompletion(out outcome) {
	if out.done() {
		o.sent = int(out.res)
	}
	o.completeSent(out)
}
