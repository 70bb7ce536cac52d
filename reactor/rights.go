package reactor

import (
	"encoding/binary"
	"unsafe"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// Descriptors are passed over unix sockets, beside at least one byte: the receiver has copies of its own. See
// unix(7), SCM_RIGHTS.

// MaxFDs is how many descriptors go with one message.
const MaxFDs = 253

// sendFDsSender sends descriptors. See Socket.SendFDs.
type sendFDsSender struct {
	affine
	s   *Socket
	buf []byte
	fds []int
}

// SendFDs is a sender of the number of bytes of buf that were sent, which is all of them and not 0, with copies of
// the descriptors fds, at most MaxFDs; more fail with EINVAL. The slice fds is read by Connect and not kept. The
// descriptors stay the caller's, who may close them when the operation has completed. For the rest it is as
// SendMsg.
//
// Kernel operation: IORING_OP_SENDMSG, sendmsg(2).
func (s *Socket) SendFDs(buf []byte, fds []int) sendFDsSender {
	return sendFDsSender{s: s, buf: buf, fds: fds}
}

// Connect prepares op.
func (c sendFDsSender) Connect(op *SendFDsOp, r sender.Receiver[int]) sender.Operation {
	op.Reset()
	op.Add(c.buf)
	op.rights = op.rights[:0]
	if len(c.fds) != 0 {
		if n := unix.CmsgSpace(4 * len(c.fds)); cap(op.rights) < n {
			op.rights = make([]byte, 0, n)
		}
		op.rights = op.rights[:unix.CmsgLen(4*len(c.fds))]
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(op.rights)))
		h.Level, h.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
		h.SetLen(len(op.rights))
		for i, fd := range c.fds {
			binary.NativeEndian.PutUint32(op.rights[unix.CmsgLen(4*i):], uint32(int32(fd)))
		}
	}
	op.control, op.to = op.rights, Address{}
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// SendFDsOp is the operation state of SendFDs.
type SendFDsOp struct {
	SendMsgOp
	rights []byte
}

// Rights are what RecvFDs receives.
type Rights struct {
	N int // bytes received; 0 is the peer's end
	// FDs are the descriptors that came with them, with O_CLOEXEC. They are the receiver's, who gives each to a
	// Socket or a File or closes it. The slice is the operation's, until that is started again.
	FDs []int
	// Truncated: more descriptors were sent than there was room for, or the process may not have more. Those that
	// are missing are gone.
	Truncated bool
	sys       host.System
}

// Close closes all of the descriptors, for those who do not want them.
func (r Rights) Close() {
	for _, fd := range r.FDs {
		_ = r.sys.Close(fd)
	}
}

// recvFDsSender receives descriptors. See Socket.RecvFDs.
type recvFDsSender struct {
	affine
	s    *Socket
	buf  []byte
	most int
}

// RecvFDs is a sender of bytes received into buf, which is not empty, and of the descriptors that came with them,
// at most so many. What was received when the operation is stopped is delivered, so that no descriptor is lost;
// whoever puts an adaptor around it that may drop a value, such as sender.WhenAny, loses those of that value. buf
// must be on the heap or mapped, and belongs to the operation from Start until it completes. Other control data,
// such as that of SetPassCredentials, takes room from descriptors: receive it by RecvMsg.
//
// Kernel operation: IORING_OP_RECVMSG with MSG_CMSG_CLOEXEC, recvmsg(2).
func (s *Socket) RecvFDs(buf []byte, most int) recvFDsSender {
	return recvFDsSender{s: s, buf: buf, most: most}
}

// Connect prepares op.
func (c recvFDsSender) Connect(op *RecvFDsOp, r sender.Receiver[Rights]) sender.Operation {
	most := min(max(c.most, 0), MaxFDs)
	op.in.Reset()
	op.in.Add(c.buf)
	if cap(op.fds) < most {
		op.fds = make([]int, 0, most)
		op.in.control = make([]byte, unix.CmsgSpace(4*most))
	}
	op.in.control = op.in.control[:0]
	if most != 0 {
		op.in.control = op.in.control[:unix.CmsgLen(4*most)] // what CmsgSpace adds would be taken for room
	}
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvFDsOp is the operation state of RecvFDs.
type RecvFDsOp struct {
	single[Rights]
	in  incoming
	fds []int
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvFDsOp) Start() {
	o.in.prep(&o.op)
	o.start(o, o.r.Env())
}

func (o *RecvFDsOp) finish() {
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
	m := o.in.message(int(o.res))
	o.fds = o.fds[:0]
	for c := range ControlMessages(m.Control) {
		if c.Level == unix.SOL_SOCKET && c.Type == unix.SCM_RIGHTS {
			for ; len(c.Data) >= 4; c.Data = c.Data[4:] {
				o.fds = append(o.fds, int(int32(binary.NativeEndian.Uint32(c.Data))))
			}
		}
	}
	o.r.SetValue(Rights{m.N, o.fds, m.ControlTruncated(), o.loop.sys})
}
