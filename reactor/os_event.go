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

// Event is a count that any thread, any process that has the descriptor, and the kernel itself can add to, and that
// a loop waits for: an eventfd(2). Within a process sender.Schedule is the cheaper way to a loop.
//
// Its methods are called on the loop's thread, but for Signal.
type Event struct {
	Descriptor
	taken [8]byte // as it was read

	mu     sync.Mutex  // held while the descriptor is written to, so that it is not closed meanwhile
	sys    host.System // nil: it is not open
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

// eventCloseSender closes an Event. See Event.Close.
type eventCloseSender struct {
	affine
	e *Event
}

// Close is as Descriptor.Close. When it has been started Signal fails.
func (e *Event) Close() eventCloseSender { return eventCloseSender{e: e} }

// Connect prepares op.
func (c eventCloseSender) Connect(op *EventCloseOp, r sender.Receiver[struct{}]) sender.Operation {
	op.e = c.e
	c.e.Descriptor.Close().Connect(&op.CloseOp, r)
	return op
}

// EventCloseOp is the operation state of Event.Close.
type EventCloseOp struct {
	CloseOp
	e *Event
}

// Start begins to close.
func (o *EventCloseOp) Start() {
	o.e.mu.Lock()
	o.e.sys = nil
	o.e.mu.Unlock()
	o.CloseOp.Start()
}

// take reads the count, which becomes 0. EAGAIN: it is 0.
func (e *Event) take() (uint64, int32) {
	for {
		_, err := e.loop.sys.Read(int(e.fd), e.taken[:])
		switch res := resultOf(err); res {
		case -int32(syscall.EINTR):
		case 0:
			return binary.NativeEndian.Uint64(e.taken[:]), 0
		default:
			return 0, res
		}
	}
}

// eventWaitSender waits for an Event. See Event.Wait.
type eventWaitSender struct {
	affine
	e *Event
}

// Wait is a sender of the count, which becomes 0, once it is not.
//
// Kernel operation: IORING_OP_POLL_ADD, and then a read(2) that does not block: to read an eventfd through io_uring
// has been broken in some kernels.
func (e *Event) Wait() eventWaitSender { return eventWaitSender{e: e} }

// Connect prepares op.
func (c eventWaitSender) Connect(op *EventWaitOp, r sender.Receiver[uint64]) sender.Operation {
	op.sqe.PrepPollAdd(int(c.e.fd), unix.POLLIN)
	op.e, op.loop, op.on, op.r = c.e, c.e.loop, &c.e.Descriptor, r
	return op
}

// EventWaitOp is the operation state of Wait.
type EventWaitOp struct {
	single[uint64]
	e *Event
}

// Start begins to wait. It may be called again after each completion.
func (o *EventWaitOp) Start() { o.start(o, o.r.Env()) }

func (o *EventWaitOp) finish() {
	var n uint64
	if o.res >= 0 {
		n, o.res = o.e.take()
	}
	switch {
	case o.res != -int32(syscall.EAGAIN): // else somebody else has read it
	case o.over():
		o.res = -int32(syscall.ECANCELED)
	default:
		o.arm()
		return
	}
	o.complete(n)
}

// eventManySender waits for an Event again and again. See Event.Many.
type eventManySender struct {
	affine
	e      *Event
	credit int
}

// Many is a sequence of the count, each time that it is not 0, as of Wait. No signal is lost: what comes between two
// items, or while there is no credit, is counted in the next. It ends by a stop, a close or an error.
//
// credit is how many items it may deliver; Grant adds to it (see "Credit"). A second sequence of an Event completes with EBUSY.
func (e *Event) Many(credit int) eventManySender { return eventManySender{e: e, credit: credit} }

// Connect prepares op.
func (c eventManySender) Connect(op *EventManyOp, r seq.Receiver[uint64]) sender.Operation {
	op.sqe.PrepPollAdd(int(c.e.fd), unix.POLLIN)
	op.e, op.loop, op.on, op.r = c.e, c.e.loop, &c.e.Descriptor, r
	op.credit.init(c.credit)
	return op
}

// EventManyOp is the operation state of Many.
type EventManyOp struct {
	sequence[uint64]
	e *Event
	credit
}

// Start begins to wait.
func (o *EventManyOp) Start() {
	o.credit.reset()
	o.start(o)
}

// Grant lets the sequence deliver n more items. On the loop's thread, while the sequence is in progress.
func (o *EventManyOp) Grant(n int) {
	o.loop.assertOnThread()
	if o.credit.add(n) && o.state == opDormant {
		o.credit.waits = false
		o.arm()
	}
}

func (o *EventManyOp) item(int32, uint32) {
	panic("reactor: more than one completion of a poll")
}

func (o *EventManyOp) finish() {
	var n uint64
	if o.res >= 0 {
		n, o.res = o.e.take()
	}
	if o.res == 0 {
		o.credit.spend(1)
		o.beginLast(syscall.EAGAIN)
		o.r.SetNext(n)
		o.endLast()
	}
	if o.res == -int32(syscall.EAGAIN) {
		switch {
		case o.over():
			o.res = -int32(syscall.ECANCELED)
		case o.credit.left <= 0:
			o.state, o.credit.waits = opDormant, true
			return
		default:
			o.arm()
			return
		}
	}
	o.end()
}
