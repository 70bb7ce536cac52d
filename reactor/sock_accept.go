//go:build linux

package reactor

import (
	"syscall"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/uring"
	"golang.org/x/sys/unix"
)

const (
	acceptFlags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK

	// acceptEvents are the events that an accept polls for after the ring gave it up with EAGAIN: readiness was
	// reported often, and no connection was found. A unix listener that was shut down for receiving reports a hangup
	// then, which accept(2) says by EINVAL, but only where it may wait.
	acceptEvents = unix.POLLIN | unix.POLLRDHUP
)

// AcceptSender accepts one connection. See [Socket.Accept].
type AcceptSender struct {
	affine
	s *Socket
}

// Accept returns a sender that accepts one connection and completes with its descriptor, with SOCK_CLOEXEC and
// SOCK_NONBLOCK. The receiver owns the descriptor, and gives it to a Socket or closes it. A connection that was
// accepted while the operation was being stopped is delivered. If the listener was shut down for receiving the
// operation fails with EINVAL.
//
// A connection that was gone before it could be accepted is skipped (ECONNABORTED, or another error of the network, see
// accept(2)). When descriptors or memory have run out (EMFILE, ENFILE, ENOBUFS, ENOMEM), or many connections in a row
// had to be skipped, it backs off for [AcceptBackoff] and tries again; it notifies a receiver that is an
// [AcceptBackoffHandler].
//
// Kernel operation: IORING_OP_ACCEPT, accept4(2).
func (s *Socket) Accept() AcceptSender { return AcceptSender{s: s} }

// Connect implements [sender.Sender].
func (c AcceptSender) Connect(op *AcceptOp, r sender.Receiver[int]) sender.Operation {
	op.policy, op.loop, op.on, op.r = policyAccept, c.s.loop, &c.s.Descriptor, r
	op.retry.init(&op.op)
	return op
}

// AcceptOp is the operation state of [Socket.Accept].
type AcceptOp struct {
	single[int]
	retry acceptRetry
}

// Start begins to accept. It may be called again after each completion.
func (o *AcceptOp) Start() {
	env := o.env()
	o.retry.skipped = 0
	o.prep()
	o.start(o, env)
}

func (o *AcceptOp) prep() bool {
	o.sqe.PrepAccept(int(o.on.fd), acceptFlags)
	return true
}

func (o *AcceptOp) onCompletion(out outcome) {
	if !o.retry.after(out, o, o.r) {
		o.complete(int(out.res), out)
	}
}

// acceptRetry continues to accept after a failure that is not the listener's.
type acceptRetry struct {
	backoff
	skipped uint8 // failures in a row
}

// after deals with such a failure; it reports false if out is not one.
func (a *acceptRetry) after(out outcome, run retryable, receiver any) bool {
	errno := syscall.Errno(max(-out.res, 0))
	gone := connectionGone(errno)
	switch o := a.o; {
	case out.kind != outcomeFailed || !gone && !outOfResources(errno):
		a.end()
		return false
	case o.over():
		run.onCompletion(o.cancelled())
	case gone && a.skipped < maxSkipped-1:
		a.skipped++
		o.proceed(run)
	default:
		a.skipped = 0
		a.begin(AcceptBackoff)
		if w, ok := receiver.(AcceptBackoffHandler); ok {
			w.OnAcceptBackoff(errno)
		}
	}
	return true
}

// AcceptManySender accepts again and again. See [Socket.AcceptMany].
type AcceptManySender struct {
	affine
	s      *Socket
	credit int
}

// AcceptMany returns a sequence of the descriptors of accepted connections, as of [Socket.Accept].
//
// credit is the number of connections it may accept; [AcceptManyOp.Grant] adds to it (see "Credit"). While there is
// more of it than the backlog can hold, connections are accepted by one multishot entry; below that one by one, so that
// no more are accepted than there is credit for. Without credit they wait in the backlog. From unix listeners they are
// accepted one by one, because a multishot entry does not learn that such a listener was shut down.
//
// It skips connections that are gone, and backs off, as [Socket.Accept] does. Other errors end the sequence.
//
// Kernel operation: IORING_OP_ACCEPT.
func (s *Socket) AcceptMany(credit int) AcceptManySender {
	return AcceptManySender{s: s, credit: credit}
}

// AcceptBackoff is the time that accepting waits when descriptors or memory have run out.
const AcceptBackoff = 100 * time.Millisecond

// maxSkipped is the number of failures in a row that are skipped without a backoff.
const maxSkipped = 32

// AcceptBackoffHandler is an optional interface of receivers of [Socket.Accept] and [Socket.AcceptMany].
type AcceptBackoffHandler interface {
	// OnAcceptBackoff is called each time that accepting backs off because of err, a syscall.Errno.
	OnAcceptBackoff(err error)
}

// Connect implements [sender.Sender].
func (c AcceptManySender) Connect(op *AcceptManyOp, r seq.Receiver[int]) sender.Operation {
	op.policy, op.loop, op.on, op.r = policyAcceptMany, c.s.loop, &c.s.Descriptor, r
	op.credit.init(c.credit)
	op.retry.init(&op.op)
	return op
}

// AcceptManyOp is the operation state of [Socket.AcceptMany].
type AcceptManyOp struct {
	sequence[int]
	credit
	retry acceptRetry
}

// Start begins to accept. It may be called again after each completion.
func (o *AcceptManyOp) Start() {
	env := o.env()
	o.retry.skipped = 0
	o.credit.reset()
	o.prep()
	o.start(o, env)
}

// Grant lets the sequence accept n more. On the loop's thread, while the sequence is in progress.
func (o *AcceptManyOp) Grant(n int) { o.grant(&o.credit, n) }

func (o *AcceptManyOp) onCompletion(out outcome) {
	switch {
	case out.more():
		o.deliver(int(out.res))
		o.afterItem()
	case out.done():
		o.beginDelivery()
		o.deliver(int(out.res))
		o.endDelivery()
		o.proceed(o)
	default:
		o.credit.waits = false
		if !o.retry.after(out, o, o.r) {
			o.complete(out)
		}
	}
}

func (o *AcceptManyOp) deliver(fd int) {
	o.retry.skipped = 0
	o.credit.spend(1)
	o.r.SetNext(fd)
}

// afterItem takes the entry back if there is no credit for more, and none was granted meanwhile.
func (o *AcceptManyOp) afterItem() {
	if o.credit.left <= 0 || o.credit.left == Backlog {
		o.disarm()
	}
}

// prep fills the entry so that it accepts no more than there is credit for, or lets the source wait for credit.
func (o *AcceptManyOp) prep() bool {
	if o.awaitCredit(&o.credit, o.credit.left <= 0) {
		return false
	}
	o.sqe.PrepAcceptMultishot(int(o.on.fd), acceptFlags)
	family, _ := o.on.askOnce(&o.on.family, unix.SO_DOMAIN)
	if o.credit.left <= Backlog || family == unix.AF_UNIX {
		o.sqe.Ioprio &^= uring.AcceptMultishot
	}
	return true
}

// outOfResources reports whether there was no descriptor or no memory for the connection. See accept(2).
func outOfResources(errno syscall.Errno) bool {
	switch errno {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		return true
	}
	return false
}

// connectionGone reports whether the error is that of a connection which was gone before it could be accepted. See
// accept(2).
func connectionGone(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNABORTED, syscall.EPROTO, syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN,
		syscall.EHOSTUNREACH, syscall.ENONET, syscall.ENOPROTOOPT, syscall.EPERM, syscall.ETIMEDOUT:
		return true
	}
	return false
}
