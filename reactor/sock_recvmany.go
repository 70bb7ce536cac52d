package reactor

import (
	"math"
	"syscall"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
)

// RecvManySender receives on and on into buffers of the loop. See Socket.RecvMany.
type RecvManySender struct {
	affine
	s        *Socket
	credit   int
	adaptive bool
}

// Unlimited is a credit that never runs out.
const Unlimited = math.MaxInt32

// RecvMany is a sequence of received bytes, each item in a buffer that is lent to the receiver, who
// releases it. It completes with a value at the peer's end. On a socket for datagrams, which knows no end, an
// empty Lease is a datagram of no bytes.
//
// credit is how many buffers' worth it may deliver; Grant adds to it (see "Credit"). When that has arrived, the source
// rests until there is credit again. Items smaller than a buffer use up a credit each as well, but those
// that had arrived by the time it ran out are delivered nevertheless, so that credit can go below zero.
// Re-arming is invisible. A socket has one sequence at a time; a second one completes with EBUSY.
//
// The loop's buffers are shared by all. When a quarter of them is lent, a source also rests while what it has delivered
// and was not granted again is more than its share of them (it may always have one); it goes on when credit is granted,
// or when fewer are lent. An unlimited credit is exempt.
//
// Kernel operation: IORING_OP_RECV, multishot with a limit where the ring has that, else single.
func (s *Socket) RecvMany(credit int) RecvManySender { return RecvManySender{s: s, credit: credit} }

// Adaptive lets the sequence, which is of a stream, receive bulk into large buffers, many times as much with one
// operation. An item in one is worth several buffers of the usual size (Lease.Credits), which is what it uses up of
// the credit and what is to be granted for it. While there is bulk there is one item at a time: the source rests
// until all that was used up has been granted again. Of large buffers a loop has few (BufferConfig.LargeLimit):
// who gets none goes on with usual ones.
//
// Kernel operations: IORING_OP_RECV, single and with MSG_DONTWAIT, and IORING_OP_POLL_ADD while there is nothing, so
// that a connection holds no large buffer then.
func (c RecvManySender) Adaptive() RecvManySender {
	c.adaptive = true
	return c
}

// Connect prepares op.
func (c RecvManySender) Connect(op *RecvManyOp, r seq.Receiver[Lease]) sender.Operation {
	op.sqe.PrepRecvMultishot(int(c.s.fd), group, 0)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	op.credit.init(c.credit)
	op.bulk = bulk{adaptive: c.adaptive}
	return op
}

// RecvManyOp is the operation state of RecvMany.
type RecvManyOp struct {
	sequence[Lease]
	credit
	bulk bulk
}

// Start begins to receive.
func (o *RecvManyOp) Start() {
	o.credit.reset()
	o.bulk.reset()
	o.flags = 0
	o.choose()
	o.start(o)
}

// Grant gives credit for n more items, or for those worth as much. On the loop's thread, while the sequence is in
// progress.
func (o *RecvManyOp) Grant(n int) {
	o.loop.assertOnThread()
	if o.credit.add(n) && o.state == opDormant {
		o.again()
	}
}

func (o *RecvManyOp) item(res int32, flags uint32) {
	o.res, o.flags = res, flags
	if lease := o.lease(); lease.n != 0 {
		o.deliver(lease)
	}
}

func (o *RecvManyOp) deliver(lease Lease) {
	o.bulk.judge(lease)
	o.credit.spend(lease.Credits())
	o.r.SetNext(lease)
	o.afterItem()
}

// afterItem takes the entry back if there is no credit for more, and not granted meanwhile, or for bulk.
func (o *RecvManyOp) afterItem() {
	if o.credit.left <= 0 || o.bulk.entering() || o.loop.buffers.exceeds(o.credit.held()) {
		o.disarm()
	}
}

func (o *RecvManyOp) finish() {
	if lease, ok := o.received(); ok {
		o.beginLast(syscall.ECANCELED)
		o.deliver(lease)
		o.endLast()
	}
	switch syscall.Errno(-o.res) {
	case syscall.ECANCELED, syscall.EINTR, syscall.ENOBUFS, syscall.EAGAIN: // EINTR: a cancel came when it was at work
		if !o.over() {
			o.again()
			return
		}
		o.res = -int32(syscall.ECANCELED)
	}
	if o.res == 0 {
		o.on.sawEnd()
	}
	o.end()
}

// received takes what the final completion brought.
func (o *RecvManyOp) received() (lease Lease, ok bool) {
	if o.bulk.entry != entryUsual {
		return o.receivedBulk()
	}
	lease = o.lease()
	return lease, lease.n != 0 || o.res == 0 && !o.on.ended()
}

// again arms the source, or lets it wait for credit or for a buffer.
func (o *RecvManyOp) again() {
	if o.credit.waits = o.credit.left <= 0 || o.bulk.on && o.credit.left < o.credit.initial ||
		o.loop.buffers.mustWait(&o.op, o.credit.held()); o.credit.waits {
		o.state, o.res = opDormant, -int32(syscall.ECANCELED)
		return
	}
	o.choose()
	switch errno := syscall.Errno(-o.res); {
	case o.bulk.entry != entryUsual:
		o.arm()
	case errno == syscall.ENOBUFS:
		o.loop.buffers.wait(&o.op)
	case errno == syscall.EAGAIN: // see againWhenReady
		o.sqe.Ioprio |= uring.RecvsendPollFirst
		o.arm()
	default:
		o.arm()
	}
}

// choose picks the entry that receives no more than there is credit for.
func (o *RecvManyOp) choose() {
	l := o.loop
	if o.bulk.on && o.chooseBulk() {
		return
	}
	if o.bulk.entry != entryUsual {
		o.bulk.entry = entryUsual
		o.sqe.PrepRecvMultishot(int(o.on.fd), group, 0)
	}
	switch {
	case o.credit.left == Unlimited:
		o.sqe.Ioprio = uring.RecvMultishot
	case l.recvLimit:
		o.sqe.Ioprio = uring.RecvMultishot
		n := l.buffers.allowance(o.credit.left, o.credit.held())
		o.sqe.LimitRecv(uint32(min(int64(n)*int64(l.buffers.size), math.MaxInt32)))
	default:
		o.sqe.Ioprio = 0
		o.pollFirst()
	}
}
