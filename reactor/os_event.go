//go:build linux

package reactor

import (
	"encoding/binary"
	"os"
	"sync"
	"syscall"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"golang.org/x/sys/unix"
)

// Event is a count that any thread, any process that has the descriptor, and the kernel itself can add to, and that a
// loop waits for: an eventfd(2). Within a process [sender.Schedule] is the cheaper way to a loop.
//
// Its methods are called on the loop's thread, except [Event.Signal].
type Event struct {
	Descriptor
	taken [8]byte // as it was read

	mu     sync.Mutex  // held while the descriptor is written to, so that it is not closed meanwhile
	sys    host.System // nil while not open
	number int         // the descriptor
	added  [8]byte
}

// Open makes the eventfd, with a count of 0.
func (e *Event) Open(l *Loop) error {
	fd, err := l.sys.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	e.Init(l, fd)
	e.mu.Lock()
	e.sys, e.number = l.sys, fd
	e.mu.Unlock()
	return nil
}

// Signal adds n, which is at least 1, to the count. From any thread. It fails with an error that matches
// fs.ErrClosed once Close has been started, and with EAGAIN if the count would exceed 2⁶⁴ - 2.
func (e *Event) Signal(n uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sys == nil {
		return errClosed
	}
	binary.NativeEndian.PutUint64(e.added[:], n)
	for {
		_, err := e.sys.Write(e.number, e.added[:])
		if err != unix.EINTR { //nolint:errorlint // it is bare
			return err
		}
	}
}

// Close works as [Descriptor.Close]. When it has been started Signal fails.
func (e *Event) Close() CloseSender { return CloseSender{d: &e.Descriptor, e: e} }

// silence makes Signal fail from now on.
func (e *Event) silence() {
	e.mu.Lock()
	e.sys = nil
	e.mu.Unlock()
}

// take reads the count, which becomes 0. It fails with EAGAIN if the count is 0.
func (e *Event) take() (uint64, outcome) {
	for {
		_, err := e.loop.sys.Read(int(e.fd), e.taken[:])
		switch out := outcomeOf(resultOf(err)); {
		case out.done():
			return binary.NativeEndian.Uint64(e.taken[:]), out
		case !out.is(syscall.EINTR):
			return 0, out
		}
	}
}

// EventWaitSender waits for an Event. See [Event.Wait].
type EventWaitSender struct {
	affine
	e *Event
}

// Wait returns a sender that waits until the count is not 0, resets it and completes with it.
//
// Kernel operation: IORING_OP_POLL_ADD, and then a read(2) that does not block: to read an eventfd through io_uring
// has been broken in some kernels.
func (e *Event) Wait() EventWaitSender { return EventWaitSender{e: e} }

// Connect implements [sender.Sender].
func (c EventWaitSender) Connect(op *EventWaitOp, r sender.Receiver[uint64]) sender.Operation {
	op.sqe.PrepPollAdd(int(c.e.fd), unix.POLLIN)
	op.policy, op.e, op.loop, op.on, op.r = policyEvent, c.e, c.e.loop, &c.e.Descriptor, r
	return op
}

// EventWaitOp is the operation state of [Event.Wait].
type EventWaitOp struct {
	single[uint64]
	e *Event
}

// Start begins to wait. It may be called again after each completion.
func (o *EventWaitOp) Start() { o.start(o, o.env()) }

// prep leaves the entry as it is.
func (o *EventWaitOp) prep() bool { return true }

func (o *EventWaitOp) onCompletion(out outcome) {
	var n uint64
	if out.done() {
		if n, out = o.e.take(); out.is(syscall.EAGAIN) { // another reader has taken it
			o.proceed(o)
			return
		}
	}
	o.complete(n, out)
}

// EventManySender waits for an Event again and again. See [Event.Many].
type EventManySender struct {
	affine
	e      *Event
	credit int
}

// Many returns a sequence of the count, as [Event.Wait] delivers it, each time that it is not 0. No signal is lost:
// what comes between two items, or while there is no credit, is counted in the next. It ends by a stop, a close or an
// error.
//
// credit is the number of items it may deliver; [EventManyOp.Grant] adds to it (see "Credit"). A second sequence of an
// Event completes with EBUSY.
func (e *Event) Many(credit int) EventManySender { return EventManySender{e: e, credit: credit} }

// Connect implements [sender.Sender].
func (c EventManySender) Connect(op *EventManyOp, r seq.Receiver[uint64]) sender.Operation {
	op.sqe.PrepPollAdd(int(c.e.fd), unix.POLLIN)
	op.policy, op.e, op.loop, op.on, op.r = policyEventMany, c.e, c.e.loop, &c.e.Descriptor, r
	op.credit.init(c.credit)
	return op
}

// EventManyOp is the operation state of [Event.Many].
type EventManyOp struct {
	sequence[uint64]
	e *Event
	credit
}

// Start begins to wait. It may be called again after each completion.
func (o *EventManyOp) Start() {
	env := o.env()
	o.credit.reset()
	o.start(o, env)
}

// Grant lets the sequence deliver n more items. On the loop's thread, while the sequence is in progress.
func (o *EventManyOp) Grant(n int) { o.grant(&o.credit, n) }

// prep lets the sequence wait for credit.
func (o *EventManyOp) prep() bool { return !o.awaitCredit(&o.credit, o.credit.left <= 0) }

func (o *EventManyOp) onCompletion(out outcome) {
	if !out.done() {
		o.complete(out)
		return
	}
	n, out := o.e.take()
	switch {
	case out.done():
		o.credit.spend(1)
		o.beginDelivery()
		o.r.SetNext(n)
		o.endDelivery()
		o.proceed(o)
	case out.is(syscall.EAGAIN): // another reader has taken it
		o.proceed(o)
	default:
		o.complete(out)
	}
}
