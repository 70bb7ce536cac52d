package reactor

import (
	"syscall"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/timerqueue"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

const acceptFlags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK

// acceptSender accepts one connection. See Socket.Accept.
type acceptSender struct {
	affine
	s *Socket
}

// Accept is a sender of the descriptor of one accepted connection, with SOCK_CLOEXEC and
// SOCK_NONBLOCK. The descriptor is the receiver's, who gives it to a Socket or closes it. One that was
// accepted while it was being stopped is delivered, not lost. A listener that was shut down for receiving ends it
// with EINVAL.
//
// Kernel operation: IORING_OP_ACCEPT, accept4(2).
func (s *Socket) Accept() acceptSender { return acceptSender{s: s} }

// Connect prepares op.
func (c acceptSender) Connect(op *AcceptOp, r sender.Receiver[int]) sender.Operation {
	op.sqe.PrepAccept(int(c.s.fd), acceptFlags)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	return op
}

// AcceptOp is the operation state of Accept.
type AcceptOp struct{ single[int] }

// Start begins to accept. It may be called again after each completion.
func (o *AcceptOp) Start() { o.start(o, o.r.Env()) }

func (o *AcceptOp) finish() {
	if o.looks() {
		return
	}
	if o.res == -int32(syscall.EINTR) && !o.over() {
		o.arm()
		return
	}
	o.complete(int(o.res))
}

// looks deals with an accept that the ring gave up with EAGAIN: it was told often that there is a connection, and
// found none. So the listener is polled. A unix listener that was shut down for receiving tells then, which
// accept(2) does only where it may wait, by EINVAL. False: res is what to go by, and EINTR to try again.
func (o *op) looks() bool {
	switch {
	case o.sqe.Opcode == uring.OpPollAdd:
		switch {
		case o.res&(unix.POLLRDHUP|unix.POLLHUP) != 0 && o.res >= 0:
			o.res = -int32(syscall.EINVAL)
		case o.res >= 0:
			o.res = -int32(syscall.EINTR)
		}
		o.sqe.PrepAccept(int(o.on.fd), acceptFlags)
	case o.res != -int32(syscall.EAGAIN):
	case o.over():
		o.res = -int32(syscall.ECANCELED)
	default:
		o.sqe.PrepPollAdd(int(o.on.fd), unix.POLLIN|unix.POLLRDHUP)
		o.arm()
		return true
	}
	return false
}

// acceptManySender accepts on and on. See Socket.AcceptMany.
type acceptManySender struct {
	affine
	s      *Socket
	credit int
}

// AcceptMany is a sequence of the descriptors of accepted connections, as of Accept.
//
// credit is how many it may accept; Grant adds to it (see "Credit"). While there is more of it than the backlog can
// hold, connections are accepted by one multishot entry; below that one by one, so that no more are
// accepted than there is credit for. Without credit they wait in the backlog. From unix listeners they are accepted
// one by one, because a multishot entry is not told that such a listener was shut down.
//
// A connection that was gone before it could be accepted is passed over. When the process or the
// system is out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), or many connections in a row
// had to be passed over, accepting rests for AcceptBackoff and is tried again; a receiver that is an
// AcceptBackoffHandler is told. Other errors end the sequence.
//
// Kernel operation: IORING_OP_ACCEPT.
func (s *Socket) AcceptMany(credit int) acceptManySender {
	return acceptManySender{s: s, credit: credit}
}

// AcceptBackoff is how long accepting rests when descriptors or memory have run out.
const AcceptBackoff = 100 * time.Millisecond

// maxMisses is how many failures in a row are passed over without a rest.
const maxMisses = 32

// AcceptBackoffHandler is what a receiver of AcceptMany may be as well.
type AcceptBackoffHandler interface {
	// OnAcceptBackoff is called each time that accepting rests because of err, a syscall.Errno.
	OnAcceptBackoff(err error)
}

// Connect prepares op.
func (c acceptManySender) Connect(op *AcceptManyOp, r seq.Receiver[int]) sender.Operation {
	op.sqe.PrepAcceptMultishot(int(c.s.fd), acceptFlags)
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	op.credit.init(c.credit)
	op.rest.Init((*acceptRest)(op))
	return op
}

// AcceptManyOp is the operation state of AcceptMany.
type AcceptManyOp struct {
	sequence[int]
	credit
	rest   timerqueue.Timer
	misses uint8 // failures in a row that were passed over
}

// Start begins to accept.
func (o *AcceptManyOp) Start() {
	o.misses = 0
	o.credit.reset()
	o.choose()
	o.start(o)
}

// Grant lets the sequence accept n more. On the loop's thread, while the sequence is in progress.
func (o *AcceptManyOp) Grant(n int) {
	o.loop.assertOnThread()
	if o.credit.add(n) && o.state == opDormant {
		o.again()
	}
}

func (o *AcceptManyOp) item(res int32, _ uint32) {
	o.misses = 0
	o.credit.spend(1)
	o.r.SetNext(int(res))
	o.afterItem()
}

// afterItem takes the entry back if there is no credit for more, and not granted meanwhile.
func (o *AcceptManyOp) afterItem() {
	if o.credit.left <= 0 || o.credit.left == Backlog {
		o.disarm()
	}
}

func (o *AcceptManyOp) finish() {
	if o.looks() {
		return
	}
	if o.res >= 0 {
		o.misses = 0
		o.credit.spend(1)
		fd := int(o.res)
		o.beginLast(syscall.ECANCELED)
		o.r.SetNext(fd)
		o.endLast()
	}
	errno := syscall.Errno(-o.res)
	switch {
	case errno == syscall.ECANCELED, errno == syscall.EINTR: // taken back for want of credit; see looks
	case asGoodAsNone(errno):
		o.misses++
	case errno == syscall.EMFILE, errno == syscall.ENFILE, errno == syscall.ENOBUFS, errno == syscall.ENOMEM:
		o.misses = maxMisses
	default:
		o.end()
		return
	}
	switch {
	case o.over():
		o.res = -int32(syscall.ECANCELED)
		o.end()
	case o.misses >= maxMisses:
		o.takeRest()
		if w, ok := o.r.(AcceptBackoffHandler); ok {
			w.OnAcceptBackoff(errno)
		}
	default:
		o.again()
	}
}

// asGoodAsNone: the error is that of a connection which was gone before it could be accepted. See accept(2).
func asGoodAsNone(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNABORTED, syscall.EPROTO, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN,
		syscall.EHOSTUNREACH, syscall.ENONET, syscall.ENOPROTOOPT, syscall.EPERM, syscall.ETIMEDOUT:
		return true
	}
	return false
}

func (o *AcceptManyOp) end() {
	o.loop.timers.Remove(&o.rest)
	o.sequence.end()
}

// choose picks the entry that accepts no more than there is credit for.
func (o *AcceptManyOp) choose() {
	o.sqe.Ioprio = 0
	if family, _ := o.on.asked(&o.on.family, unix.SO_DOMAIN); o.credit.left > Backlog && family != unix.AF_UNIX {
		o.sqe.Ioprio = uring.AcceptMultishot
	}
}

// again arms the source, or lets it wait for credit.
func (o *AcceptManyOp) again() {
	if o.credit.waits = o.credit.left <= 0; o.credit.waits {
		o.state = opDormant
		return
	}
	o.choose()
	o.arm()
}

func (o *AcceptManyOp) takeRest() {
	o.state, o.credit.waits, o.misses = opDormant, false, 0
	o.loop.timers.Push(&o.rest, o.loop.now+int64(AcceptBackoff))
}

// acceptRest is an AcceptManyOp as the handler of its timer.
type acceptRest AcceptManyOp

func (t *acceptRest) OnTimer(int64) {
	if o := (*AcceptManyOp)(t); o.state == opDormant {
		o.again()
	}
}
