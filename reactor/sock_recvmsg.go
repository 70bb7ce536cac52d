//go:build linux

package reactor

import (
	"encoding/binary"
	"unsafe"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// Message describes a received message, whose bytes are in the memory that was given for them.
type Message struct {
	N       int     // bytes received
	Flags   int     // unix.MSG_TRUNC, MSG_CTRUNC, MSG_EOR, …: see recvmsg(2)
	Control []byte  // control data, in the memory that was given for it: see ControlMessages
	From    Address // the sender; zero on a connection, and if that is a unix socket without a name
}

// Truncated reports whether it was a datagram that did not fit: the rest of it is lost.
func (m *Message) Truncated() bool { return m.Flags&unix.MSG_TRUNC != 0 }

// ControlTruncated reports whether there was more control data than room for it.
func (m *Message) ControlTruncated() bool { return m.Flags&unix.MSG_CTRUNC != 0 }

// incoming is an operation that receives a message into the caller's memory: what RecvMsgSender and RecvFDsSender have
// in common.
type incoming[T any] struct {
	single[T]
	mem       pieces
	msg       unix.Msghdr
	control   []byte
	from      Address
	recvFlags int
}

// startMessage begins to receive, as run.
func (o *incoming[T]) startMessage(run operation) {
	env := o.env()
	o.msg = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&o.from.raw)), Namelen: sizeofAddress}
	o.mem.describe(&o.msg)
	if len(o.control) != 0 {
		o.msg.Control = unsafe.SliceData(o.control)
		o.msg.SetControllen(len(o.control))
	}
	o.sqe.PrepRecvmsg(int(o.on.fd), unsafe.Pointer(&o.msg), o.recvFlags|unix.MSG_CMSG_CLOEXEC)
	o.start(run, env)
}

// message returns the received message, or a zero one if out is no success.
func (o *incoming[T]) message(out outcome) (m Message) {
	if !out.done() {
		return m
	}
	if out.res == 0 && o.mem.total != 0 {
		o.on.noteEOF()
	}
	m = Message{N: int(out.res), Flags: int(o.msg.Flags) &^ unix.MSG_CMSG_CLOEXEC, From: o.from.written(o.msg.Namelen)}
	if len(o.control) != 0 {
		m.Control = o.control[:min(int(o.msg.Controllen), len(o.control))]
	}
	return m
}

// RecvMsgSender receives a message. See [Socket.RecvFrom] and [Socket.RecvMsg].
type RecvMsgSender struct {
	affine
	s       *Socket
	one     []byte
	bufs    [][]byte
	control []byte
	flags   int
}

// RecvFrom returns a sender that receives one datagram into buf and completes with its size and its sender's address.
// The part that does not fit is lost, and the [Message] says so. buf must be on the heap or mapped, and belongs to the
// operation from Start until it completes. On a connection of the stream kind it works as [Socket.Recv]: 0 bytes are
// EOF.
//
// Kernel operation: IORING_OP_RECVMSG, recvmsg(2).
func (s *Socket) RecvFrom(buf []byte) RecvMsgSender { return RecvMsgSender{s: s, one: buf} }

// RecvMsg receives as [Socket.RecvFrom] does, into several pieces of memory, in order, at most 1024, and receives
// control data into control, which may be nil. The slice bufs is read by Connect and not kept; the rest belongs to the
// operation from Start until it completes. flags are those of recvmsg(2), such as unix.MSG_PEEK or MSG_WAITALL; with
// MSG_DONTWAIT it fails with EAGAIN if nothing has arrived.
//
// Descriptors in the control data (SCM_RIGHTS) are the receiver's, with O_CLOEXEC, whatever the flags;
// [Socket.RecvFDs] is the easy way.
func (s *Socket) RecvMsg(bufs [][]byte, control []byte, flags int) RecvMsgSender {
	return RecvMsgSender{s: s, bufs: bufs, control: control, flags: flags}
}

// Connect implements [sender.Sender].
func (c RecvMsgSender) Connect(op *RecvMsgOp, r sender.Receiver[Message]) sender.Operation {
	op.mem.set(c.bufs)
	op.mem.add(c.one)
	op.control, op.recvFlags = c.control, c.flags
	op.policy, op.loop, op.on, op.r = recvPolicy(c.flags), c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvMsgOp is the operation state of [Socket.RecvFrom] and [Socket.RecvMsg].
type RecvMsgOp struct{ incoming[Message] }

// Start begins to receive. It may be called again after each completion.
func (o *RecvMsgOp) Start() { o.startMessage(o) }

func (o *RecvMsgOp) onCompletion(out outcome) {
	m := o.message(out)
	o.release()
	if !out.done() {
		o.fail(o.errorOf(out))
		return
	}
	o.r.SetValue(m) // not by complete, which would copy it more often
}

// Rights are the bytes and descriptors that [Socket.RecvFDs] receives.
type Rights struct {
	N int // bytes received; 0 is EOF: the peer closed its write side
	// FDs are the descriptors that came with them, with O_CLOEXEC. They are the receiver's, who gives each to a
	// Socket or a File or closes it. The slice is the operation's, until that is started again.
	FDs []int
	// Truncated means that more descriptors were sent than there was room for, or than the process may have. The
	// missing ones are lost.
	Truncated bool
	sys       host.System
}

// Close closes all of the descriptors, if none is wanted.
func (r Rights) Close() {
	for _, fd := range r.FDs {
		_ = r.sys.Close(fd)
	}
}

// RecvFDsSender receives descriptors. See [Socket.RecvFDs].
type RecvFDsSender struct {
	affine
	s    *Socket
	buf  []byte
	most int
}

// RecvFDs returns a sender that receives bytes into buf, which is not empty, and completes with their number and at
// most that many descriptors that came with them. What was received when the operation is stopped is delivered, so that
// no descriptor leaks; an adaptor that may drop a value, such as [sender.WhenAny], leaks those of that value. buf must
// be on the heap or mapped, and belongs to the operation from Start until it completes. Other control data, such as
// that of SetPassCredentials, takes room from descriptors: receive it by [Socket.RecvMsg].
//
// Kernel operation: IORING_OP_RECVMSG with MSG_CMSG_CLOEXEC, recvmsg(2).
func (s *Socket) RecvFDs(buf []byte, most int) RecvFDsSender {
	return RecvFDsSender{s: s, buf: buf, most: most}
}

// Connect implements [sender.Sender].
func (c RecvFDsSender) Connect(op *RecvFDsOp, r sender.Receiver[Rights]) sender.Operation {
	most := min(max(c.most, 0), MaxFDs)
	op.mem.reset()
	op.mem.add(c.buf)
	if cap(op.fds) < most {
		op.fds = make([]int, 0, most)
		op.control = make([]byte, unix.CmsgSpace(4*most))
	}
	op.control = op.control[:0]
	if most != 0 {
		op.control = op.control[:unix.CmsgLen(4*most)] // what CmsgSpace adds would be taken for room
	}
	op.policy, op.loop, op.on, op.r = policyRecv, c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvFDsOp is the operation state of [Socket.RecvFDs].
type RecvFDsOp struct {
	incoming[Rights]
	fds []int
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvFDsOp) Start() { o.startMessage(o) }

func (o *RecvFDsOp) onCompletion(out outcome) {
	m := o.message(out)
	o.fds = appendRights(o.fds[:0], m.Control)
	o.complete(Rights{m.N, o.fds, m.ControlTruncated(), o.loop.sys}, out)
}

// appendRights appends the descriptors that control data carries.
func appendRights(fds []int, control []byte) []int {
	for c := range ControlMessages(control) {
		if c.Level != unix.SOL_SOCKET || c.Type != unix.SCM_RIGHTS {
			continue
		}
		for ; len(c.Data) >= 4; c.Data = c.Data[4:] {
			fds = append(fds, int(int32(binary.NativeEndian.Uint32(c.Data))))
		}
	}
	return fds
}
