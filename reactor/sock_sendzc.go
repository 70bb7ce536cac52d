package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// sendZCSender sends without copying. See Socket.SendZC and Socket.SendvZC.
type sendZCSender struct {
	affine
	s    *Socket
	one  []byte
	bufs [][]byte
}

// SendZC is SendAll of memory that the kernel does not copy: it is sent from where it is. The operation completes
// when nobody looks at the memory any more, which with TCP is when the peer has acknowledged the bytes. It is
// stopped as SendAll is; but what was taken by the socket until then keeps the memory, and so the operation, until
// it is acknowledged or the connection is reset: a stop does not shorten that, nor does the end of the loop. The
// socket is closed without waiting for it.
//
// It costs more than a copy for less than about 10 KiB, and where the kernel has to copy nevertheless, as always
// on the loopback interface: SendZCOp.Copied tells, after which it is better to SendAll. Where the ring or the
// socket cannot do it, or the process may not pin so much memory, it is SendAll.
//
// Kernel operation: IORING_OP_SEND_ZC, and IORING_OP_SEND in its place. See io_uring_prep_send_zc(3).
func (s *Socket) SendZC(buf []byte) sendZCSender { return sendZCSender{s: s, one: buf} }

// SendvZC is SendZC of several pieces of memory, in order, at most 1024. The slice bufs is read by Connect and not
// kept.
//
// Kernel operation: IORING_OP_SENDMSG_ZC, and IORING_OP_SENDMSG in its place.
func (s *Socket) SendvZC(bufs [][]byte) sendZCSender { return sendZCSender{s: s, bufs: bufs} }

// Connect prepares op.
func (c sendZCSender) Connect(op *SendZCOp, r sender.Receiver[int]) sender.Operation {
	op.set(c.bufs)
	op.Add(c.one)
	op.socket, op.copies = &c.s.Descriptor, false
	op.loop, op.on, op.r = c.s.loop, op.socket, r
	return op
}

// SendZCOp is the operation state of SendZC and SendvZC. Once connected, Reset and Add change what its next Start
// sends.
type SendZCOp struct {
	sending
	pieces
	msg     unix.Msghdr
	socket  *Descriptor // what it sends on; on is nil once that is done with, and only the notification is awaited
	result  int32       // of the send whose notification is awaited
	awaited bool        // there is such a one
	copies  bool        // neither the ring nor the socket can do without
	copied  bool        // some of it was
}

// zcCopied is the notification's result if the bytes were copied: IORING_NOTIF_USAGE_ZC_COPIED.
const zcCopied = -1 << 31

// Copied reports whether the bytes of the send that has completed were copied after all.
func (o *SendZCOp) Copied() bool { return o.copied }

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendZCOp) Start() {
	o.on = o.socket
	o.sent, o.awaited, o.copied = 0, false, false
	o.rewind()
	o.prep()
	o.start(o)
}

// prep fills the entry for what is left. A send that must not wait may take a part only: what is to be tried
// again is copied.
func (o *SendZCOp) prep() {
	flags, rest := o.sendFlags(true), o.rest()
	if len(rest) > 1 {
		o.msg = unix.Msghdr{}
		o.describe(&o.msg)
	}
	fd, zero := int(o.on.fd), !o.copies && !o.on.peerEnded && len(rest) != 0
	zero = zero && o.loop.ops.Has(uring.OpSendZC) && o.loop.ops.Has(uring.OpSendmsgZC)
	o.copied = o.copied || !zero
	switch {
	case len(rest) > 1 && zero:
		o.sqe.PrepSendmsgZC(fd, unsafe.Pointer(&o.msg), flags, uring.SendZCReportUsage)
	case len(rest) > 1:
		o.sqe.PrepSendmsg(fd, unsafe.Pointer(&o.msg), flags)
	case zero:
		o.sqe.PrepSendZC(fd, unsafe.Pointer(rest[0].Base), uint32(min(rest[0].Len, maxTransfer)), flags, uring.SendZCReportUsage)
	case len(rest) == 1:
		o.sqe.PrepSend(fd, unsafe.Pointer(rest[0].Base), uint32(min(rest[0].Len, maxTransfer)), flags)
	default:
		o.sqe.PrepSend(fd, nil, 0, flags)
	}
}

// item takes in the result of a send, which its notification will follow: that cannot be cancelled.
func (o *SendZCOp) item(res int32, flags uint32) {
	if o.waits.polls() {
		o.sending.item(res, flags)
		return
	}
	o.result, o.awaited, o.state = res, true, opSettled
	o.letGo()
}

func (o *SendZCOp) cancel() {
	o.sending.cancel()
	o.letGo()
}

// letGo: if nothing but the notification is to come, the socket is not needed any more, and can be closed.
func (o *SendZCOp) letGo() {
	if o.on != nil && o.awaited && o.result > 0 && (int(o.result) == o.left() || o.over()) {
		o.forget()
		o.leave()
		o.on = nil
	}
}

func (o *SendZCOp) finish() {
	if o.polled(o) {
		return
	}
	if o.awaited {
		o.copied = o.copied || o.res == zcCopied
		o.res, o.awaited = o.result, false
	}
	o.advance(o.took())
	if o.on == nil {
		o.release()
		o.r.SetValue(o.sent)
		return
	}
	if o.left() == 0 && o.res >= 0 {
		o.end()
		return
	}
	if o.cannot() {
		o.copies, o.res = true, -int32(syscall.EINTR) // once more, the other way
	}
	o.goOn(o)
}

// cannot: the socket cannot send without copying, or the process may not pin more memory.
func (o *SendZCOp) cannot() bool {
	if op := o.sqe.Opcode; op != uring.OpSendZC && op != uring.OpSendmsgZC {
		return false
	}
	errno := syscall.Errno(max(-o.res, 0))
	return errno == syscall.EOPNOTSUPP || errno == syscall.ENOBUFS || errno == syscall.ENOMEM
}
