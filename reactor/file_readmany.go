//go:build linux

package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
)

// ReadManySender reads a stream again and again into buffers of the loop. See [File.ReadMany].
type ReadManySender struct {
	affine
	f      *File
	credit int
}

// ReadMany returns a sequence of the bytes that come from a stream (a pipe, a FIFO, a terminal), each item in a buffer
// that is leased to the receiver, who releases it. It completes with a value at EOF.
//
// credit is the number of items it may deliver; [ReadManyOp.Grant] adds to it (see "Credit"). When that has run out the
// bytes stay in the stream until there is credit again. It waits for buffers as [Socket.RecvMany] does. Re-arming is
// invisible. A file has one sequence at a time; a second one completes with EBUSY.
//
// Kernel operation: IORING_OP_READ_MULTISHOT (Linux 6.7) if the credit is [Unlimited], else IORING_OP_READ with
// IOSQE_BUFFER_SELECT.
func (f *File) ReadMany(credit int) ReadManySender { return ReadManySender{f: f, credit: credit} }

// Connect implements [sender.Sender].
func (c ReadManySender) Connect(op *ReadManyOp, r seq.Receiver[Lease]) sender.Operation {
	op.policy, op.loop, op.on, op.r = policyReadMany, c.f.loop, &c.f.Descriptor, r
	op.credit.init(c.credit)
	return op
}

// ReadManyOp is the operation state of [File.ReadMany].
type ReadManyOp struct {
	sequence[Lease]
	credit
}

// Start begins to read. It may be called again after each completion.
func (o *ReadManyOp) Start() {
	env := o.env()
	o.credit.reset()
	o.choose()
	o.start(o, env)
}

// Grant lets the sequence deliver n more items. On the loop's thread, while the sequence is in progress.
func (o *ReadManyOp) Grant(n int) { o.grant(&o.credit, n) }

// choose fills the entry so that it reads no more than there is credit for.
func (o *ReadManyOp) choose() {
	if o.credit.left == Unlimited && o.loop.ops.Has(uring.OpReadMultishot) {
		o.sqe.PrepReadMultishot(int(o.on.fd), group)
		return
	}
	o.sqe.PrepRead(int(o.on.fd), nil, uint32(o.loop.buffers.size), uring.FilePosition)
	o.sqe.Flags, o.sqe.BufIndex = uring.SQEBufferSelect, group
}

// prep fills the entry, or lets the source wait for credit.
func (o *ReadManyOp) prep() bool {
	c := &o.credit
	if o.awaitCredit(c, c.left <= 0 || o.loop.buffers.mustWait(&o.op, c.held())) {
		return false
	}
	o.choose()
	return true
}

func (o *ReadManyOp) onCompletion(out outcome) {
	lease := o.lease(out)
	switch {
	case out.more():
		if lease.n != 0 {
			o.deliver(lease)
		}
	case lease.n != 0:
		o.beginDelivery()
		o.deliver(lease)
		o.endDelivery()
		o.proceed(o)
	default:
		o.complete(out)
	}
}

func (o *ReadManyOp) deliver(lease Lease) {
	o.credit.spend(1)
	o.r.SetNext(lease)
}
