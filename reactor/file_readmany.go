package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// readManySender reads a stream on and on into buffers of the loop. See File.ReadMany.
type readManySender struct {
	affine
	f      *File
	credit int
}

// ReadMany is a sequence of the bytes that come from a stream (a pipe, a FIFO, a terminal), each item in a buffer
// that is lent to the receiver, who releases it. It completes with a value at the end of the stream.
//
// credit is how many items it may deliver; Grant adds to it (see "Credit"). When that has run out the bytes stay in the
// stream until there is credit again. It rests for want of buffers as Socket.RecvMany does. Re-arming is invisible. A
// file has one sequence at a time; a second one completes with EBUSY.
//
// Kernel operation: IORING_OP_READ_MULTISHOT (Linux 6.7) if the credit is Unlimited, else IORING_OP_READ with
// IOSQE_BUFFER_SELECT.
func (f *File) ReadMany(credit int) readManySender { return readManySender{f: f, credit: credit} }

// Connect prepares op.
func (c readManySender) Connect(op *ReadManyOp, r seq.Receiver[Lease]) sender.Operation {
	op.loop, op.on, op.r = c.f.loop, &c.f.Descriptor, r
	op.credit.init(c.credit)
	return op
}

// ReadManyOp is the operation state of ReadMany.
type ReadManyOp struct {
	sequence[Lease]
	credit
	readiness readiness
}

// Start begins to read.
func (o *ReadManyOp) Start() {
	o.credit.reset()
	o.readiness = readiness{}
	o.prep()
	o.start(o)
}

// Grant lets the sequence deliver n more items. On the loop's thread, while the sequence is in progress.
func (o *ReadManyOp) Grant(n int) {
	o.loop.assertOnThread()
	if o.credit.add(n) && o.state == opDormant {
		o.again()
	}
}

// prep fills the entry that reads no more than there is credit for.
func (o *ReadManyOp) prep() {
	if o.credit.left == Unlimited && o.loop.ops.Has(uring.OpReadMultishot) {
		o.sqe.PrepReadMultishot(int(o.on.fd), group)
		return
	}
	o.sqe.PrepRead(int(o.on.fd), nil, uint32(o.loop.buffers.size), uring.FilePosition)
	o.sqe.Flags, o.sqe.BufIndex = uring.SQEBufferSelect, group
}

func (o *ReadManyOp) item(res int32, flags uint32) {
	if o.readiness.polls() {
		o.readiness.item(&o.op, res)
		return
	}
	o.res, o.flags = res, flags
	if lease := o.lease(); lease.n != 0 {
		o.deliver(lease)
	}
}

func (o *ReadManyOp) deliver(lease Lease) {
	o.credit.spend(1)
	o.readiness.misses = 0
	o.r.SetNext(lease)
}

func (o *ReadManyOp) finish() {
	if !o.readiness.polls() {
		if lease := o.lease(); lease.n != 0 {
			o.beginLast(syscall.ECANCELED)
			o.deliver(lease)
			o.endLast()
		}
		if o.res == -int32(syscall.ECANCELED) && !o.over() {
			o.again()
			return
		}
	}
	switch step := o.readiness.next(&o.op, unix.POLLIN); {
	case step == stepAgain:
		o.again()
		return
	case step == stepWait, o.shortOfBuffers():
		return
	}
	o.end()
}

// again arms the source, or lets it wait for credit.
func (o *ReadManyOp) again() {
	if o.credit.waits = o.credit.left <= 0 || o.loop.buffers.mustWait(&o.op, o.credit.held()); o.credit.waits {
		o.state = opDormant
		return
	}
	o.prep()
	o.arm()
}
