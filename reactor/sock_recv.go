//go:build linux

package reactor

import (
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// maxTransfer is the most bytes that an entry is asked to move: its length has 32 bits, and the kernel moves less than
// 2 GiB at a time anyway. See recv(2).
const maxTransfer = 1 << 30

// RecvSender receives into the caller's memory. See [Socket.Recv].
type RecvSender struct {
	affine
	s     *Socket
	buf   []byte
	flags int
}

// Recv returns a sender that receives into buf, which must not be empty, and completes with the number of bytes; 0 is
// EOF: the peer closed its write side. buf must be on the heap or mapped, and belongs to the operation from Start until
// it completes.
//
// Kernel operation: IORING_OP_RECV, recv(2).
func (s *Socket) Recv(buf []byte) RecvSender { return RecvSender{s: s, buf: buf} }

// RecvFlags receives as [Socket.Recv] does, with flags of recv(2): with unix.MSG_PEEK what is received can be received
// again, with MSG_WAITALL it completes when buf is full or at EOF, with MSG_DONTWAIT it fails with EAGAIN if there is
// nothing, with MSG_TRUNC the number of bytes is that of a whole datagram even if buf is shorter. Stopped in the middle
// of MSG_WAITALL it completes with the number of bytes so far.
func (s *Socket) RecvFlags(buf []byte, flags int) RecvSender {
	return RecvSender{s: s, buf: buf, flags: flags}
}

// Connect implements [sender.Sender].
func (c RecvSender) Connect(op *RecvOp, r sender.Receiver[int]) sender.Operation {
	if len(c.buf) == 0 && c.flags&unix.MSG_TRUNC == 0 {
		panic("reactor: Recv into an empty buffer, whose value 0 would read as EOF: give it room, " +
			"or wait for bytes with Poll(unix.POLLIN)")
	}
	op.buf = unsafe.SliceData(c.buf)
	op.sqe.PrepRecv(int(c.s.fd), unsafe.Pointer(op.buf), uint32(min(len(c.buf), maxTransfer)), c.flags)
	op.policy, op.loop, op.on, op.r = recvPolicy(c.flags), c.s.loop, &c.s.Descriptor, r
	return op
}

// recvPolicy returns the policy of a receive with flags of recv(2).
func recvPolicy(flags int) policy {
	if flags&unix.MSG_DONTWAIT != 0 {
		return policyPlain
	}
	return policyRecv
}

// RecvOp is the operation state of [Socket.Recv] and [Socket.RecvFlags].
type RecvOp struct {
	single[int]
	buf *byte // keeps the memory alive that the entry names
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvOp) Start() {
	env := o.env()
	if o.sqe.Ioprio = 0; o.on.drained && o.sqe.OpFlags == 0 {
		o.sqe.Ioprio = uring.RecvsendPollFirst
	}
	o.start(o, env)
}

func (o *RecvOp) onCompletion(out outcome) {
	o.on.drained = out.flags&uring.CQESockNonempty == 0
	if out.done() && out.res == 0 && o.sqe.Len != 0 {
		o.on.noteEOF()
	}
	o.complete(int(out.res), out)
}

// RecvLeaseSender receives into a buffer of the loop. See [Socket.RecvLease].
type RecvLeaseSender struct {
	affine
	s *Socket
}

// RecvLease returns a sender of received bytes in a buffer that is leased to the receiver, who releases it. No buffer
// is held while nothing arrives. An empty [Lease] is EOF: the peer closed its write side.
//
// Kernel operation: IORING_OP_RECV with IOSQE_BUFFER_SELECT.
func (s *Socket) RecvLease() RecvLeaseSender { return RecvLeaseSender{s: s} }

// Connect implements [sender.Sender].
func (c RecvLeaseSender) Connect(op *RecvLeaseOp, r sender.Receiver[Lease]) sender.Operation {
	op.sqe.PrepRecvSelect(int(c.s.fd), group, 0, 0)
	op.sqe.Ioprio = uring.RecvsendPollFirst
	op.policy, op.loop, op.on, op.r = policyRecvLease, c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvLeaseOp is the operation state of [Socket.RecvLease].
type RecvLeaseOp struct{ single[Lease] }

// Start begins to receive. It may be called again after each completion.
func (o *RecvLeaseOp) Start() { o.start(o, o.env()) }

func (o *RecvLeaseOp) onCompletion(out outcome) {
	lease := o.lease(out)
	if out.done() {
		if out.res > 0 {
			o.sleepFirst(out.flags)
		} else {
			o.on.noteEOF()
		}
	}
	o.complete(lease, out)
}
