//go:build linux

package reactor

import (
	"math"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// RecvManySender receives again and again into buffers of the loop. See [Socket.RecvMany].
type RecvManySender struct {
	affine
	s        *Socket
	credit   int
	adaptive bool
}

// Unlimited is a credit that never runs out.
const Unlimited = math.MaxInt32

// RecvMany returns a sequence of received bytes, each item in a buffer that is leased to the receiver, who releases it.
// It completes with a value at EOF. On a socket for datagrams, which has no EOF, an empty [Lease] is a datagram of no
// bytes.
//
// credit is the number of buffers it may deliver; [RecvManyOp.Grant] adds to it (see "Credit"). When that many have
// arrived, the source waits until there is credit again. Items smaller than a buffer use up a credit each as well, but
// those that had arrived by the time it ran out are delivered nevertheless, so that credit can become negative.
// Re-arming is invisible. A socket has one sequence at a time; a second one completes with EBUSY.
//
// The loop's buffers are shared by all of its sequences. When a quarter of them is leased, a source also waits while
// what it has delivered and was not granted again is more than its share of them (it may always have one); it is armed
// again when credit is granted, or when fewer are leased. An unlimited credit is exempt.
//
// Kernel operation: IORING_OP_RECV, multishot with a limit where the ring has that, else single.
func (s *Socket) RecvMany(credit int) RecvManySender { return RecvManySender{s: s, credit: credit} }

// Adaptive lets the sequence, which is of a stream, receive bulk into large buffers, many times as much with one
// operation. An item in one uses up the credit of several buffers of the usual size ([Lease.Credits]), and as much is
// to be granted for it. While there is bulk there is one item at a time: the source waits until all that was used up
// has been granted again. A loop has few large buffers ([BufferConfig.LargeLimit]): a source that finds none receives
// into usual ones.
//
// Kernel operations: IORING_OP_RECV, single and with MSG_DONTWAIT, and IORING_OP_POLL_ADD while there is nothing, so
// that a connection holds no large buffer then.
func (c RecvManySender) Adaptive() RecvManySender {
	c.adaptive = true
	return c
}

// Connect implements [seq.Sequence].
func (c RecvManySender) Connect(op *RecvManyOp, r seq.Receiver[Lease]) sender.Operation {
	op.sqe.PrepRecvMultishot(int(c.s.fd), group, 0)
	op.policy, op.loop, op.on, op.r = policyRecvMany, c.s.loop, &c.s.Descriptor, r
	op.credit.init(c.credit)
	op.bulk = bulk{adaptive: c.adaptive}
	return op
}

// RecvManyOp is the operation state of [Socket.RecvMany].
type RecvManyOp struct {
	sequence[Lease]
	credit
	bulk bulk
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvManyOp) Start() {
	env := o.env()
	o.credit.reset()
	o.bulk.reset()
	o.flags = 0
	o.choose()
	o.start(o, env)
}

// Grant gives credit for n more items, or for those that use up as much. On the loop's thread, while the sequence is
// in progress.
func (o *RecvManyOp) Grant(n int) { o.grant(&o.credit, n) }

func (o *RecvManyOp) onCompletion(out outcome) {
	polled := o.bulk.state == bulkPolls && out.done()
	lease, ok := o.received(out)
	switch {
	case out.more():
		if ok {
			o.deliver(lease)
		}
	case ok:
		o.beginDelivery()
		o.deliver(lease)
		o.endDelivery()
		o.proceed(o)
	case polled:
		o.proceed(o)
	default:
		if out.done() {
			o.on.noteEOF()
		}
		o.complete(out)
	}
}

// received takes what a completion brought.
func (o *RecvManyOp) received(out outcome) (lease Lease, ok bool) {
	switch b := &o.bulk; b.state {
	case bulkPolls:
		if out.done() {
			b.state = bulkNext
		}
		return Lease{}, false
	case bulkReceives:
		return b.received(&o.loop.buffers, out)
	}
	lease = o.lease(out)
	return lease, lease.n != 0 || out.done() && out.res == 0 && !out.more() && !o.on.ended()
}

func (o *RecvManyOp) deliver(lease Lease) {
	o.bulk.judge(lease)
	o.credit.spend(lease.Credits())
	o.r.SetNext(lease)
	o.afterItem()
}

// afterItem takes the entry back if there is no credit for more, and none was granted meanwhile, or for bulk.
func (o *RecvManyOp) afterItem() {
	if o.credit.left <= 0 || o.bulk.state == bulkEnters || o.loop.buffers.exceeds(o.credit.held()) {
		o.disarm()
	}
}

// prep fills the entry, or lets the source wait for credit.
func (o *RecvManyOp) prep() bool {
	c := &o.credit
	if o.bulk.state == bulkReceives { // in vain
		o.bulk.received(&o.loop.buffers, outcome{flags: o.flags})
	}
	if o.awaitCredit(c, c.left <= 0 || o.bulk.on() && c.left < c.initial || o.loop.buffers.mustWait(&o.op, c.held())) {
		return false
	}
	o.choose()
	return true
}

// choose fills the entry so that it receives no more than there is credit for.
func (o *RecvManyOp) choose() {
	l, b := o.loop, &o.bulk
	if b.on() && b.prep(l, &o.sqe, int(o.on.fd)) {
		return
	}
	if b.state == bulkLeaves {
		b.state = bulkOff
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
		o.sleepFirst(o.flags)
	}
}

// bulk adapts a RecvMany of a stream to what it receives. Several full buffers in a row are bulk: it then receives into
// large buffers, one at a time, until what comes would not fill usual ones either.
type bulk struct {
	adaptive bool
	state    bulkState
	signs    uint8  // items in a row that speak for the other way to receive
	need     uint8  // how many it takes for bulk
	large    uint16 // the buffer of bulkReceives
}

// bulkState says what the entry of a RecvMany is.
//
//	off      → enters    there is bulk
//	enters   → receives  the entry came back, and the credit was granted again
//	receives → next      it brought bytes, and there are more
//	receives → idle      there are none, or no more
//	next     → receives
//	idle     → polls → next
//	enters, next → leaves   no large buffer is left, or it is no longer worth it
//	leaves   → off
type bulkState uint8

const (
	bulkOff      bulkState = iota // it receives into usual buffers
	bulkEnters                    // into usual buffers still, and it is being taken back
	bulkNext                      // no entry; the next one receives into a large buffer
	bulkReceives                  // it receives into a large buffer
	bulkIdle                      // no entry; the next one polls
	bulkPolls                     // it waits for bytes, without a buffer
	bulkLeaves                    // no entry; the next one receives into usual buffers
)

// It takes bulkSigns in a row to change the way. Each time that bulk proves to be none, or that no buffer is left for
// it, it takes twice as many the next time, up to maxSigns: messages of just the size of a buffer look like bulk.
const (
	bulkSigns = 4
	maxSigns  = 64
)

// reset prepares for the first entry.
func (b *bulk) reset() {
	b.signs, b.need = 0, bulkSigns
	if b.state == bulkEnters {
		b.state = bulkOff
	} else if b.state != bulkOff {
		b.state = bulkLeaves
	}
}

// on reports whether it receives into large buffers, or is about to.
func (b *bulk) on() bool { return b.state != bulkOff && b.state != bulkLeaves }

// leave returns to usual buffers, for longer than the last time.
func (b *bulk) leave() { b.state, b.signs, b.need = bulkLeaves, 0, min(2*b.need, maxSigns) }

// judge looks at what was received.
func (b *bulk) judge(l Lease) {
	switch {
	case !b.adaptive || l.n == 0:
	case b.on():
		if l.id&largeID != 0 { // not what had arrived before
			b.judgeLarge(int(l.n) >= 2*l.b.size)
		}
	case int(l.n) < l.b.size:
		b.signs = 0
	default:
		if b.signs++; b.signs >= b.need {
			b.state, b.signs = bulkEnters, 0
		}
	}
}

// judgeLarge looks at what a large buffer got: is it more than a usual buffer or two would have held?
func (b *bulk) judgeLarge(is bool) {
	if is {
		b.signs, b.need = 0, bulkSigns
		return
	}
	if b.signs++; b.signs == bulkSigns {
		b.leave()
	}
}

// prep fills the entry that receives bulk, or waits for it; it reports false if no buffer is left.
func (b *bulk) prep(l *Loop, sqe *uring.SQE, fd int) bool {
	if b.state == bulkIdle || b.state == bulkPolls {
		b.state = bulkPolls
		sqe.PrepPollAdd(fd, unix.POLLIN)
		return true
	}
	lease, ok := l.buffers.takeLarge()
	if !ok {
		b.leave()
		return false
	}
	b.state, b.large = bulkReceives, lease.id
	space := lease.space()
	sqe.PrepRecv(fd, unsafe.Pointer(unsafe.SliceData(space)), uint32(len(space)), unix.MSG_DONTWAIT)
	return true
}

// received takes what the receive into a large buffer brought, if anything.
func (b *bulk) received(buffers *Buffers, out outcome) (lease Lease, ok bool) {
	if b.state = bulkNext; out.flags&uring.CQESockNonempty == 0 {
		b.state = bulkIdle
	}
	lease = Lease{b: buffers, id: b.large}
	if !out.done() || out.res == 0 {
		lease.Release()
		return Lease{}, false
	}
	lease.n = out.res
	return lease, true
}
