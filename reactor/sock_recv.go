package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/uring"
)

// recvSender receives into the caller's memory. See Socket.Recv.
type recvSender struct {
	affine
	s     *Socket
	buf   []byte
	flags int
}

// Recv is a sender of the number of bytes received into buf, which is not empty; 0 is the peer's end.
// buf must be on the heap or mapped, and belongs to the operation from Start until it completes.
//
// Kernel operation: IORING_OP_RECV, recv(2).
func (s *Socket) Recv(buf []byte) recvSender { return recvSender{s: s, buf: buf} }

// RecvFlags is Recv with flags of recv(2): with unix.MSG_PEEK what is received can be received again, with
// MSG_WAITALL it goes on until buf is full or the peer's end is there, with MSG_DONTWAIT it fails with EAGAIN if
// there is nothing, with MSG_TRUNC the number of bytes is that of a whole datagram even if buf is shorter. Stopped
// in the middle of MSG_WAITALL it completes with the number of bytes so far.
func (s *Socket) RecvFlags(buf []byte, flags int) recvSender {
	return recvSender{s: s, buf: buf, flags: flags}
}

// Connect prepares op.
func (c recvSender) Connect(op *RecvOp, r sender.Receiver[int]) sender.Operation {
	op.buf = unsafe.SliceData(c.buf)
	op.sqe.PrepRecv(int(c.s.fd), unsafe.Pointer(op.buf), uint32(min(len(c.buf), maxTransfer)), c.flags)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// maxTransfer is the most bytes that an entry is asked to move: its length has 32 bits, and the kernel
// moves less than 2 GiB at a time anyway. See recv(2).
const maxTransfer = 1 << 30

// RecvOp is the operation state of Recv.
type RecvOp struct {
	single[int]
	buf *byte // keeps the memory alive that the entry names
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvOp) Start() {
	if o.sqe.Ioprio = 0; o.on.drained && o.sqe.OpFlags == 0 {
		o.sqe.Ioprio = uring.RecvsendPollFirst
	}
	o.start(o, o.r.Env())
}

func (o *RecvOp) finish() {
	if o.waitsAgain() {
		return
	}
	o.on.drained = o.flags&uring.CQESockNonempty == 0
	if o.res == 0 && o.sqe.Len != 0 {
		o.on.sawEnd()
	}
	o.complete(int(o.res))
}

// recvLeaseSender receives into a buffer of the loop. See Socket.RecvLease.
type recvLeaseSender struct {
	affine
	s *Socket
}

// RecvLease is a sender of received bytes in a buffer that is lent to the receiver, who releases it. No
// buffer is held while nothing arrives. An empty Lease is the peer's end.
//
// Kernel operation: IORING_OP_RECV with IOSQE_BUFFER_SELECT.
func (s *Socket) RecvLease() recvLeaseSender { return recvLeaseSender{s: s} }

// Connect prepares op.
func (c recvLeaseSender) Connect(op *RecvLeaseOp, r sender.Receiver[Lease]) sender.Operation {
	op.sqe.PrepRecvSelect(int(c.s.fd), group, 0, 0)
	op.sqe.Ioprio = uring.RecvsendPollFirst
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvLeaseOp is the operation state of RecvLease.
type RecvLeaseOp struct{ single[Lease] }

// Start begins to receive. It may be called again after each completion.
func (o *RecvLeaseOp) Start() { o.start(o, o.r.Env()) }

func (o *RecvLeaseOp) finish() {
	if o.shortOfBuffers() || o.againWhenReady(uring.RecvsendPollFirst) {
		return
	}
	lease := o.lease()
	switch {
	case o.res > 0:
		o.pollFirst()
	case o.res == 0:
		o.on.sawEnd()
	}
	o.complete(lease)
}

// lease takes the buffer of a completion, if it carries one.
func (o *op) lease() Lease {
	cqe := uring.CQE{Res: o.res, Flags: o.flags}
	id, ok := cqe.BufferID()
	if !ok {
		return Lease{}
	}
	lease := o.loop.buffers.lease(id, max(int(o.res), 0))
	if o.res <= 0 {
		lease.Release()
		return Lease{}
	}
	return lease
}

// pollFirst spares the next receive a try that would find nothing.
func (o *op) pollFirst() {
	o.sqe.Ioprio &^= uring.RecvsendPollFirst
	if o.flags&uring.CQESockNonempty == 0 {
		o.sqe.Ioprio |= uring.RecvsendPollFirst
	}
}

// shortOfBuffers deals with a receive that found no buffer: it is tried again when there is one.
func (o *op) shortOfBuffers() bool {
	if o.res != -int32(syscall.ENOBUFS) {
		return false
	}
	if o.over() {
		o.res = -int32(syscall.ECANCELED)
		return false
	}
	o.loop.buffers.wait(o)
	return true
}
