//go:build linux

package reactor

import (
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

// Datagram is a received message in a buffer of the loop, which is leased to its owner until Release, as a [Lease] is.
type Datagram struct {
	From    Address // the sender; zero on a connection, and if that is a unix socket without a name
	Control []byte  // control data: see ControlMessages
	Flags   int     // unix.MSG_TRUNC, MSG_CTRUNC, MSG_EOR, …: see recvmsg(2)
	bytes   []byte
	lease   Lease
}

// Bytes returns the bytes received. They may be read and written until Release.
func (d *Datagram) Bytes() []byte { return d.bytes }

// Truncated reports whether the message did not fit into the buffer: the rest of it is lost.
func (d *Datagram) Truncated() bool { return d.Flags&unix.MSG_TRUNC != 0 }

// ControlTruncated reports whether there was more control data than room for it.
func (d *Datagram) ControlTruncated() bool { return d.Flags&unix.MSG_CTRUNC != 0 }

// Release gives the buffer back, with the control data. It is called exactly once, on the loop's thread.
func (d *Datagram) Release() { d.lease.Release() }

// RecvFromLeaseSender receives a message into a buffer of the loop. See [Socket.RecvFromLease].
type RecvFromLeaseSender struct {
	affine
	s *Socket
}

// RecvFromLease returns a sender of one datagram in a buffer that is leased to the receiver, who releases it. No buffer
// is held while nothing arrives. On a connection a [Datagram] of no bytes is EOF.
//
// Kernel operation: IORING_OP_RECVMSG with IOSQE_BUFFER_SELECT.
func (s *Socket) RecvFromLease() RecvFromLeaseSender { return RecvFromLeaseSender{s: s} }

// Connect implements [sender.Sender].
func (c RecvFromLeaseSender) Connect(op *RecvFromLeaseOp, r sender.Receiver[Datagram]) sender.Operation {
	op.in.control = op.in.control[:0]
	op.policy, op.loop, op.on, op.r = policyRecvLease, c.s.loop, &c.s.Descriptor, r
	return op
}

// RecvFromLeaseOp is the operation state of [Socket.RecvFromLease].
type RecvFromLeaseOp struct {
	single[Datagram]
	in leasedMessage
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvFromLeaseOp) Start() {
	env := o.env()
	o.in.prep(&o.op)
	o.start(o, env)
}

func (o *RecvFromLeaseOp) onCompletion(out outcome) {
	var d Datagram
	o.in.take(&d, &o.op, out)
	if out.done() && out.res == 0 {
		o.on.noteEOF()
	}
	o.release()
	if !out.done() {
		o.fail(o.errorOf(out))
		return
	}
	o.r.SetValue(d) // not by complete, which would copy it more often
}

// RecvMsgManySender receives messages again and again. See [Socket.RecvFromMany] and [Socket.RecvMsgMany].
type RecvMsgManySender struct {
	affine
	s               *Socket
	credit, control int
	whole           bool
}

// RecvFromMany returns a sequence of datagrams, each in a buffer that is leased to the receiver, who releases it. On a
// socket for datagrams it ends by a stop, a close or an error; on a connection it completes with a value at EOF.
//
// credit is the number of datagrams it may deliver; [RecvMsgManyOp.Grant] adds to it (see "Credit"). When that many
// have been delivered, the source waits until there is credit again; those that had arrived by then, for which the ring
// had buffers, are delivered nevertheless, so that credit can become negative. It waits for buffers as
// [Socket.RecvMany] does. Re-arming is invisible. A socket has one sequence at a time; a second one completes with
// EBUSY.
//
// A buffer begins with what is reported of the message: 16 bytes, and room for the address, which is 16 for IPv4, 28
// for IPv6 and 112 for a unix socket. If that leaves nothing of a buffer it fails with EMSGSIZE.
//
// Kernel operation: IORING_OP_RECVMSG, multishot where the ring has that, else single.
func (s *Socket) RecvFromMany(credit int) RecvMsgManySender {
	return RecvMsgManySender{s: s, credit: credit}
}

// RecvMsgMany works as [Socket.RecvFromMany], with room for that much control data, in bytes, in each buffer.
//
// Descriptors in the control data (SCM_RIGHTS) are the receiver's, with O_CLOEXEC, who has to look for them.
func (s *Socket) RecvMsgMany(credit, control int) RecvMsgManySender {
	return RecvMsgManySender{s: s, credit: credit, control: control}
}

// Whole makes the sequence receive into buffers of the loop that have room for the largest datagram of UDP, and for as
// much as the kernel makes of several of them (UDP_GRO), so that none is truncated. A loop has 1024 of these buffers,
// which take memory only if they are used.
func (c RecvMsgManySender) Whole() RecvMsgManySender {
	c.whole = true
	return c
}

// Connect implements [sender.Sender].
func (c RecvMsgManySender) Connect(op *RecvMsgManyOp, r seq.Receiver[Datagram]) sender.Operation {
	if op.in.control = op.in.control[:0]; cap(op.in.control) < c.control {
		op.in.control = make([]byte, 0, c.control)
	}
	op.in.control, op.in.whole = op.in.control[:c.control], c.whole
	op.policy, op.loop, op.on, op.r = policyRecvMany, c.s.loop, &c.s.Descriptor, r
	op.credit.init(c.credit)
	return op
}

// RecvMsgManyOp is the operation state of [Socket.RecvFromMany] and [Socket.RecvMsgMany].
type RecvMsgManyOp struct {
	sequence[Datagram]
	credit
	in leasedMessage
}

// Start begins to receive. It may be called again after each completion.
func (o *RecvMsgManyOp) Start() {
	env := o.env()
	o.credit.reset()
	o.flags = 0
	if o.in.whole {
		if _, err := o.loop.wholeDatagrams(); err != nil {
			o.startFailed(o, env, failure(syscall.ENOMEM))
			return
		}
	}
	o.in.prepMany(&o.op)
	if o.in.before >= o.buffers().size {
		o.startFailed(o, env, failure(syscall.EMSGSIZE))
		return
	}
	o.start(o, env)
}

// Grant lets the sequence deliver n more messages. On the loop's thread, while the sequence is in progress.
func (o *RecvMsgManyOp) Grant(n int) { o.grant(&o.credit, n) }

func (o *RecvMsgManyOp) onCompletion(out outcome) {
	var d Datagram
	o.in.take(&d, &o.op, out)
	switch {
	case out.more():
		if out.done() {
			o.deliver(&d)
		}
	case out.done() && (len(d.bytes) != 0 || len(d.Control) != 0 || !o.on.ended()):
		o.beginDelivery()
		o.deliver(&d)
		o.endDelivery()
		o.proceed(o)
	default:
		d.Release()
		if out.done() {
			o.on.noteEOF()
		}
		o.complete(out)
	}
}

func (o *RecvMsgManyOp) deliver(d *Datagram) {
	o.credit.spend(1)
	o.r.SetNext(*d)
	o.afterItem()
}

// afterItem takes the entry back if there is no credit for more, and none was granted meanwhile.
func (o *RecvMsgManyOp) afterItem() {
	if o.credit.left <= 0 || o.buffers().exceeds(o.credit.held()) {
		o.disarm()
	}
}

// prep fills the entry, or lets the source wait for credit.
func (o *RecvMsgManyOp) prep() bool {
	c := &o.credit
	if o.awaitCredit(c, c.left <= 0 || o.buffers().mustWait(&o.op, c.held())) {
		return false
	}
	o.in.prepMany(&o.op)
	return true
}

// leasedMessage describes a message that is to be received into a buffer of the loop.
//
// The kernel puts name and control data of a multishot entry into the buffer, before the payload, and does not write to
// the memory of the leasedMessage. A single one has the buffer for the payload alone: its control data is moved behind
// that afterwards.
type leasedMessage struct {
	msg       unix.Msghdr
	iov       unix.Iovec
	from      Address
	whole     bool
	control   []byte // or, of a multishot entry, only the room for it
	multishot bool
	name      int // room for the address in a buffer
	before    int // room for all that is in a buffer besides the payload
}

// group returns the id of the buffers that the message is received into.
func (m *leasedMessage) group() uint16 {
	if m.whole {
		return wholeGroup
	}
	return group
}

func (m *leasedMessage) buffers(o *op) *Buffers {
	if m.whole {
		return o.loop.whole
	}
	return &o.loop.buffers
}

// prep fills a single entry.
func (m *leasedMessage) prep(o *op) {
	m.multishot, m.before = false, len(m.control)
	m.msg = unix.Msghdr{Name: (*byte)(unsafe.Pointer(&m.from.raw)), Namelen: sizeofAddress, Iov: &m.iov}
	m.msg.SetIovlen(1)
	m.iov.SetLen(m.buffers(o).size - m.before)
	if len(m.control) != 0 {
		m.msg.Control = unsafe.SliceData(m.control)
		m.msg.SetControllen(len(m.control))
	}
	o.sqe.PrepRecvmsg(int(o.on.fd), unsafe.Pointer(&m.msg), unix.MSG_CMSG_CLOEXEC)
	o.sqe.Flags, o.sqe.BufIndex = uring.SQEBufferSelect, m.group()
	o.sleepFirst(o.flags)
}

// prepMany fills a multishot entry, or a single one where the ring does not have that.
func (m *leasedMessage) prepMany(o *op) {
	if !o.loop.recvMany {
		m.prep(o)
		return
	}
	switch family, _ := o.on.askOnce(&o.on.family, unix.SO_DOMAIN); family {
	case unix.AF_INET:
		m.name = unix.SizeofSockaddrInet4
	case unix.AF_INET6:
		m.name = unix.SizeofSockaddrInet6
	default:
		m.name = int(sizeofAddress)
	}
	m.multishot = true
	m.before = int(unsafe.Sizeof(uring.RecvmsgOut{})) + m.name + len(m.control)
	m.msg = unix.Msghdr{Namelen: uint32(m.name)}
	m.msg.SetControllen(len(m.control))
	o.sqe.PrepRecvmsgMultishot(int(o.on.fd), m.group(), unsafe.Pointer(&m.msg), unix.MSG_CMSG_CLOEXEC)
}

// take fills d, which is zero, with what a completion carries. A Datagram is large: it is copied once, for the
// receiver.
func (m *leasedMessage) take(d *Datagram, o *op, out outcome) {
	cqe := uring.CQE{Res: out.res, Flags: out.flags}
	var buf []byte
	if id, ok := cqe.BufferID(); ok {
		b := m.buffers(o)
		d.lease = b.lease(id, max(int(out.res), 0))
		buf = b.mem[int(id)*b.size:][:b.size:b.size]
	}
	switch {
	case !out.done():
		d.lease.Release()
		d.lease = Lease{}
	case !m.multishot:
		m.single(d, buf, int(out.res))
	case buf != nil:
		m.parse(d, buf, int(out.res))
	}
}

// parse takes apart what a multishot entry put into buf: n bytes in all.
func (m *leasedMessage) parse(d *Datagram, buf []byte, n int) {
	out := (*uring.RecvmsgOut)(unsafe.Pointer(&buf[0]))
	name := buf[unsafe.Sizeof(*out):][:m.name]
	d.From.fill(name[:min(int(out.Namelen), len(name))])
	control := buf[int(unsafe.Sizeof(*out))+m.name:][:len(m.control)]
	d.Control = control[:min(int(out.Controllen), len(control))]
	d.Flags = int(out.Flags) &^ unix.MSG_CMSG_CLOEXEC
	d.bytes = buf[m.before:n]
}

// single takes what a single entry put into buf, n bytes, and next to it. A message of no bytes comes without a buffer:
// its control data moves to allocated memory.
func (m *leasedMessage) single(d *Datagram, buf []byte, n int) {
	d.From = m.from.written(m.msg.Namelen)
	d.Flags = int(m.msg.Flags) &^ unix.MSG_CMSG_CLOEXEC
	if got := m.control[:min(int(m.msg.Controllen), len(m.control))]; buf != nil {
		d.bytes = buf[:n]
		d.Control = buf[len(buf)-len(m.control):][:copy(buf[len(buf)-len(m.control):], got)]
	} else if len(got) != 0 {
		d.Control = append([]byte(nil), got...)
	}
}
