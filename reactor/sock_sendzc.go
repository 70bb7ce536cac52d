//go:build linux

package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// SendZCSender sends without copying. See [Socket.SendZC] and [Socket.SendvZC].
type SendZCSender struct {
	affine
	s    *Socket
	one  []byte
	bufs [][]byte
}

// SendZC sends as [Socket.SendAll] does, but without a copy: the kernel sends the memory from where it is. The
// operation completes when the kernel no longer uses the memory, which with TCP is when the peer has acknowledged the
// bytes. It is stopped as SendAll is; but what was taken by the socket until then keeps the memory, and so the
// operation, until it is acknowledged or the connection is reset: a stop does not shorten that, nor does the end of the
// loop. The socket is closed without waiting for it.
//
// It costs more than a copy for less than about 10 KiB, and where the kernel has to copy nevertheless, as always on
// the loopback interface: [SendZCOp.Copied] tells, after which it is better to SendAll. Where the ring or the socket
// cannot do it, or the process may not pin so much memory, it is SendAll.
//
// Kernel operation: IORING_OP_SEND_ZC, and IORING_OP_SEND in its place. See io_uring_prep_send_zc(3).
func (s *Socket) SendZC(buf []byte) SendZCSender { return SendZCSender{s: s, one: buf} }

// SendvZC sends several pieces of memory, in order, at most 1024, as [Socket.SendZC] does one. The slice bufs is read
// by Connect and not kept.
//
// Kernel operation: IORING_OP_SENDMSG_ZC, and IORING_OP_SENDMSG in its place.
func (s *Socket) SendvZC(bufs [][]byte) SendZCSender { return SendZCSender{s: s, bufs: bufs} }

// Connect implements [sender.Sender].
func (c SendZCSender) Connect(op *SendZCOp, r sender.Receiver[int]) sender.Operation {
	op.mem.set(c.bufs)
	op.mem.add(c.one)
	op.socket, op.mustCopy = &c.s.Descriptor, false
	op.policy, op.loop, op.on, op.r = policySend, c.s.loop, op.socket, r
	return op
}

// SendZCOp is the operation state of [Socket.SendZC] and [Socket.SendvZC]. Once connected, Reset and Add change what
// its next Start sends.
type SendZCOp struct {
	gatherOp
	socket   *Descriptor // what it sends on; op.on is nil once it is detached
	result   int32       // of the send, from notified on
	phase    zcPhase
	mustCopy bool // the ring or the socket cannot do without a copy; this holds for later starts too
	copied   bool // some of it was copied
}

// zcPhase is the progress of an entry of SendZCOp. An entry that does not copy completes twice: with its result, after
// which it cannot be cancelled, and with a notification, when the kernel no longer uses the memory.
//
//	sending   → sending    the entry has one completion only, because it copies or failed
//	sending   → notifying  its result is in
//	notifying → sending    the notification is in, and the result is taken in: it completes, or sends the rest
//	notifying → detached   its result is that all was sent, or that a part was and the operation is to stop: the socket
//	                       is no longer needed, and can be closed
//	detached  → idle       the notification is in: the operation completes
type zcPhase uint8

const (
	zcSending zcPhase = iota
	zcNotifying
	zcDetached
)

// zcCopied is the notification's result if the bytes were copied: IORING_NOTIF_USAGE_ZC_COPIED.
const zcCopied = -1 << 31

// Reset empties the list of pieces. The operation must be idle.
func (o *SendZCOp) Reset() {
	o.assertIdle("Reset")
	o.mem.reset()
}

// Add appends a piece. The operation must be idle.
func (o *SendZCOp) Add(b []byte) {
	o.assertIdle("Add")
	o.mem.add(b)
}

// Copied reports whether the bytes of the send that has completed were copied after all.
func (o *SendZCOp) Copied() bool { return o.copied }

// Start begins to send. It may be called again after each completion, and sends all of it once more.
func (o *SendZCOp) Start() {
	env := o.env()
	o.on = o.socket
	o.phase, o.copied = zcSending, false
	o.rewind()
	o.prep()
	o.start(o, env)
}

// prep fills the entry for what is left. A send that must not wait may take a part only: it copies, because it may
// have to be tried again.
func (o *SendZCOp) prep() bool {
	o.prepGather(o.sendFlags(true))
	if o.mustCopy || o.on.peerEnded || !o.zeroCopy() {
		o.copied = true
	}
	return true
}

// zeroCopy turns the entry, which copies, into one that does not, and reports whether the ring has that.
func (o *SendZCOp) zeroCopy() bool {
	ops, rest := &o.loop.ops, o.mem.rest()
	if len(rest) == 0 || !ops.Has(uring.OpSendZC) || !ops.Has(uring.OpSendmsgZC) {
		return false
	}
	fd, flags := int(o.on.fd), o.sendFlags(true)
	if len(rest) > 1 {
		o.sqe.PrepSendmsgZC(fd, unsafe.Pointer(&o.msg), flags, uring.SendZCReportUsage)
	} else {
		n := uint32(min(rest[0].Len, maxTransfer))
		o.sqe.PrepSendZC(fd, unsafe.Pointer(rest[0].Base), n, flags, uring.SendZCReportUsage)
	}
	return true
}

func (o *SendZCOp) cancel() {
	o.op.cancel()
	o.detach()
}

// detach lets the socket go if nothing but the notification is to come.
func (o *SendZCOp) detach() {
	if o.phase == zcNotifying && o.result > 0 && (int(o.result) == o.mem.left() || o.over()) {
		o.phase = zcDetached
		o.leave()
		o.on = nil
	}
}

func (o *SendZCOp) onCompletion(out outcome) {
	switch {
	case out.more():
		o.result, o.phase, o.state = out.res, zcNotifying, opSettled
		o.detach()
	case o.phase == zcSending:
		o.sendCompleted(out)
	default:
		o.copied = o.copied || out.res == zcCopied
		o.notified()
	}
}

// notified takes in the result, now that the kernel no longer uses the memory.
func (o *SendZCOp) notified() {
	if o.phase == zcDetached {
		o.took(o.result)
		o.complete(o.sent, outcomeOf(o.result))
		return
	}
	o.phase = zcSending
	o.res, o.flags, o.kind = o.result, 0, outcomeOfRing
	o.resolve(o)
}

func (o *SendZCOp) sendCompleted(out outcome) {
	switch {
	case out.done():
		if !o.took(out.res) {
			o.sendRest(o)
			return
		}
	case o.cannot(out):
		o.mustCopy = true
		o.proceed(o)
		return
	}
	o.completeSent(out)
}

// cannot reports whether the socket cannot send without copying, or the process may not pin more memory.
func (o *SendZCOp) cannot(out outcome) bool {
	if op := o.sqe.Opcode; op != uring.OpSendZC && op != uring.OpSendmsgZC {
		return false
	}
	return out.is(syscall.EOPNOTSUPP) || out.is(syscall.ENOBUFS) || out.is(syscall.ENOMEM)
}
