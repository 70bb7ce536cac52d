package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// Message is what a receive got besides the bytes, which are in the memory that was given for them.
type Message struct {
	N       int     // bytes received
	Flags   int     // unix.MSG_TRUNC, MSG_CTRUNC, MSG_EOR, …: see recvmsg(2)
	Control []byte  // control data, in the memory that was given for it: see ControlMessages
	From    Address // who sent it; zero on a connection, and if that is a unix socket without a name
}

// Truncated reports whether it was a datagram that did not fit: the rest of it is lost.
func (m *Message) Truncated() bool { return m.Flags&unix.MSG_TRUNC != 0 }

// ControlTruncated reports whether there was more control data than room for it.
func (m *Message) ControlTruncated() bool { return m.Flags&unix.MSG_CTRUNC != 0 }

// recvMsgSender receives a message. See Socket.RecvFrom and Socket.RecvMsg.
type recvMsgSender struct {
	affine
	s       *Socket
	one     []byte
	bufs    [][]byte
	control []byte
	flags   int
}

// RecvFrom is a sender of one datagram, received into buf, and of where it came from. What does not fit is lost,
// and the Message says so. buf must be on the heap or mapped, and belongs to the operation from Start until it
// completes. On a connection of the stream kind it is as Recv: 0 bytes are the peer's end.
//
// Kernel operation: IORING_OP_RECVMSG, recvmsg(2).
func (s *Socket) RecvFrom(buf []byte) recvMsgSender { return recvMsgSender{s: s, one: buf} }

// RecvMsg is RecvFrom into several pieces of memory, in order, at most 1024, and of control data into memory of
// its own, which may be nil. The slice bufs is read by Connect and not kept; the rest belongs to the operation from
// Start until it completes. flags are those of recvmsg(2), such as unix.MSG_PEEK or MSG_WAITALL; with MSG_DONTWAIT
// it fails with EAGAIN if there is nothing.
//
// Descriptors in the control data (SCM_RIGHTS) are the receiver's, with O_CLOEXEC, whatever the flags; RecvFDs is
// the easy way.
func (s *Socket) RecvMsg(bufs [][]byte, control []byte, flags int) recvMsgSender {
	return recvMsgSender{s: s, bufs: bufs, control: control, flags: flags}
}

// Connect prepares op.
func (c recvMsgSender) Connect(op *RecvMsgOp, r sender.Receiver[Message]) sender.Operation {
	op.in.set(c.bufs)
	op.in.Add(c.one)
	op.in.control, op.in.flags = c.control, c.flags
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvMsgOp is the operation state of RecvFrom and RecvMsg.
type RecvMsgOp struct {
	single[Message]
	in incoming
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvMsgOp) Start() {
	o.in.prep(&o.op)
	o.start(o, o.r.Env())
}

func (o *RecvMsgOp) finish() {
	if o.waitsAgain() {
		return
	}
	if o.res == 0 && o.in.total != 0 {
		o.on.sawEnd()
	}
	o.release()
	if o.res < 0 {
		o.fail()
		return
	}
	o.r.SetValue(o.in.message(int(o.res)))
}

// incoming is the description of a message that is to be received.
type incoming struct {
	pieces
	msg     unix.Msghdr
	control []byte
	from    Address
	flags   int
}

// prep fills the entry.
func (m *incoming) prep(o *op) {
	m.msg = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&m.from.raw)), Namelen: sizeofAddress}
	m.describe(&m.msg)
	if len(m.control) != 0 {
		m.msg.Control = unsafe.SliceData(m.control)
		m.msg.SetControllen(len(m.control))
	}
	o.sqe.PrepRecvmsg(int(o.on.fd), unsafe.Pointer(&m.msg), m.flags|unix.MSG_CMSG_CLOEXEC)
}

// message is what n received bytes came with.
func (m *incoming) message(n int) Message {
	r := Message{N: n, Flags: int(m.msg.Flags) &^ unix.MSG_CMSG_CLOEXEC, From: m.from.written(m.msg.Namelen)}
	if len(m.control) != 0 {
		r.Control = m.control[:min(int(m.msg.Controllen), len(m.control))]
	}
	return r
}

// waitsAgain is againWhenReady for an entry that receives, unless that was told not to wait.
func (o *op) waitsAgain() bool {
	if o.sqe.OpFlags&unix.MSG_DONTWAIT != 0 && o.res == -int32(syscall.EAGAIN) {
		return false
	}
	return o.againWhenReady(uring.RecvsendPollFirst)
}
