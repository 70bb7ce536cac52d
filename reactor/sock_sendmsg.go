//go:build linux

package reactor

import (
	"encoding/binary"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// outgoing is an operation that sends a message: the part common to SendMsgSender and SendFDsSender.
type outgoing struct {
	gatherOp
	control []byte
	to      Address
}

// startMessage begins to send all of it, as run.
func (o *outgoing) startMessage(run operation) {
	env := o.env()
	o.rewind()
	o.prep()
	o.start(run, env)
}

func (o *outgoing) prep() bool {
	o.msg = unix.Msghdr{Name: (*byte)(o.to.pointer()), Namelen: o.to.n}
	o.mem.describe(&o.msg)
	if len(o.control) != 0 && o.sent == 0 {
		o.msg.Control = unsafe.SliceData(o.control)
		o.msg.SetControllen(len(o.control))
	}
	o.sqe.PrepSendmsg(int(o.on.fd), unsafe.Pointer(&o.msg), o.sendFlags(true))
	return true
}

func (o *outgoing) onCompletion(out outcome) {
	if out.done() && !o.took(out.res) {
		o.sendRest(o)
		return
	}
	o.completeSent(out)
}

// SendMsgSender sends a message. See [Socket.SendMsg].
type SendMsgSender struct {
	affine
	s       *Socket
	bufs    [][]byte
	control []byte
	to      Address
}

// SendMsg returns a sender that sends all of bufs, in order, at most 1024 pieces, with control data (see
// [AppendControl]) or without (nil), to an address, or if that is zero where the socket is connected to, and completes
// with the number of bytes. On a connection of the stream kind it otherwise works as [Socket.SendAll], and the control
// data is sent with the first bytes; on others it sends one message, as [Socket.SendTo] does. The slice bufs is read by
// Connect and not kept; the pieces and the control data must be on the heap or mapped and belong to the operation from
// Start until it completes.
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) SendMsg(bufs [][]byte, control []byte, to Address) SendMsgSender {
	return SendMsgSender{s: s, bufs: bufs, control: control, to: to}
}

// Connect implements [sender.Sender].
func (c SendMsgSender) Connect(op *SendMsgOp, r sender.Receiver[int]) sender.Operation {
	op.mem.set(c.bufs)
	op.control, op.to = c.control, c.to
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, &c.s.Descriptor, r
	return op
}

// SendMsgOp is the operation state of [Socket.SendMsg]. Once connected, Reset and Add change what its next Start
// sends, and SetControl and SetAddress what is sent with it and where.
type SendMsgOp struct{ outgoing }

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendMsgOp) Start() { o.startMessage(o) }

// Reset empties the list of pieces. The operation must be idle.
func (o *SendMsgOp) Reset() {
	o.assertIdle("Reset")
	o.mem.reset()
}

// Add appends a piece. The operation must be idle.
func (o *SendMsgOp) Add(b []byte) {
	o.assertIdle("Add")
	o.mem.add(b)
}

// SetControl changes the control data. The operation must be idle.
func (o *SendMsgOp) SetControl(control []byte) {
	o.assertIdle("SetControl")
	o.control = control
}

// SetAddress changes where the message is sent. The operation must be idle.
func (o *SendMsgOp) SetAddress(to Address) {
	o.assertIdle("SetAddress")
	o.to = to
}

// Descriptors are passed over unix sockets, with at least one byte: the receiver gets copies. See unix(7), SCM_RIGHTS.

// MaxFDs is the most descriptors that one message can carry.
const MaxFDs = 253

// SendFDsSender sends descriptors. See [Socket.SendFDs].
type SendFDsSender struct {
	affine
	s   *Socket
	buf []byte
	fds []int
}

// SendFDs returns a sender that sends all of buf, which is not empty, with copies of the descriptors fds, at most
// [MaxFDs], and completes with the number of bytes; more descriptors fail with EINVAL. The slice fds is read by Connect
// and not kept. The caller keeps the descriptors, and may close them when the operation has completed. For the rest it
// works as [Socket.SendMsg].
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) SendFDs(buf []byte, fds []int) SendFDsSender {
	return SendFDsSender{s: s, buf: buf, fds: fds}
}

// Connect implements [sender.Sender].
func (c SendFDsSender) Connect(op *SendFDsOp, r sender.Receiver[int]) sender.Operation {
	op.mem.reset()
	op.mem.add(c.buf)
	op.setRights(c.fds)
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, &c.s.Descriptor, r
	return op
}

// SendFDsOp is the operation state of [Socket.SendFDs].
type SendFDsOp struct{ outgoing }

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendFDsOp) Start() { o.startMessage(o) }

// setRights makes the control data, whose memory is kept, carry the descriptors.
func (o *outgoing) setRights(fds []int) {
	o.control = o.control[:0]
	if len(fds) == 0 {
		return
	}
	if n := unix.CmsgSpace(4 * len(fds)); cap(o.control) < n {
		o.control = make([]byte, 0, n)
	}
	o.control = o.control[:unix.CmsgLen(4*len(fds))]
	h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(o.control)))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	h.SetLen(len(o.control))
	for i, fd := range fds {
		binary.NativeEndian.PutUint32(o.control[unix.CmsgLen(4*i):], uint32(int32(fd)))
	}
}
