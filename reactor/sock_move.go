//go:build linux

package reactor

import (
	"syscall"

	"github.com/reactord/reactord/sender"
)

// MoveSender gives a socket to another loop. See [Socket.MoveTo].
type MoveSender struct {
	s, to *Socket
	l     *Loop
}

// MoveTo returns a sender that gives the socket's descriptor to the loop l, as the socket to, which is new, closed, or
// s itself. It is started on the loop of s and completes with a value on l, where to may be used; what was not read
// stays in the kernel's socket and is read there.
//
// A task that awaits it is resumed on its own loop, where to must not be touched: further work with the socket is
// spawned on l.
//
// No operation may be in flight on s: otherwise it completes with EBUSY, and if s is closed with net.ErrClosed. If it
// was stopped before Start, or the loop of s drains, it completes stopped. In these cases it completes on the loop of
// s, which keeps the descriptor.
//
// If l has ended, the descriptor is closed, and the operation completes with net.ErrClosed, on the thread that finds
// it out: that of the loop of s, or that of l if it fails meanwhile.
func (s *Socket) MoveTo(l *Loop, to *Socket) MoveSender { return MoveSender{s, to, l} }

// Connect implements [sender.Sender].
func (c MoveSender) Connect(op *MoveOp, r sender.Receiver[struct{}]) sender.Operation {
	op.sqe.PrepNop() // an opcode that every ring has; the entry is not pushed
	op.loop, op.on, op.r = c.s.loop, &c.s.Descriptor, r
	op.to, op.dest = c.to, c.l
	op.work.Runner = (*arrival)(op)
	return op
}

// MoveOp is the operation state of [Socket.MoveTo].
type MoveOp struct {
	single[struct{}]
	to    *Socket
	dest  *Loop
	fd    int32 // on its way
	known knownFD
	work  sender.Work
}

// Start begins to move. It may be called again after a completion on the loop of the socket; after one on the other
// loop it is to be connected first.
func (o *MoveOp) Start() {
	if o.begin(o, o.env().StopToken()) {
		o.ready(outcome{kind: outcomeDone})
	}
}

func (o *MoveOp) onCompletion(out outcome) {
	d := o.on
	switch {
	case out.done() && o.over(): // closed since it was started
		out = o.cancelled()
	case out.done() && d.pending != 1:
		out = failure(syscall.EBUSY)
	}
	if !out.done() {
		o.complete(struct{}{}, out)
		return
	}
	o.fd, o.known = d.fd, d.knownFD
	o.loop.forget(int(d.fd))
	d.disown()
	d.state, d.fd = descriptorClosed, -1
	o.release()
	o.dest.Enqueue(&o.work) // from here on the operation may be in use on the other thread
}

// arrival is a MoveOp as work for the other loop, which owns the descriptor from now on.
type arrival MoveOp

func (a *arrival) Run() {
	if a.to.pending != 0 {
		panic("reactor: MoveTo a Socket with operations in flight: give it a new one, or a closed one")
	}
	a.to.Init(a.dest, int(a.fd))
	a.to.knownFD = a.known
	a.r.SetValue(struct{}{})
}

func (a *arrival) Abandon(error) {
	_ = a.loop.sys.Close(int(a.fd))
	a.r.SetError(errClosed)
}

// forget tells the ring that fd is given away. Only a ring that caches state of descriptors needs that.
func (l *Loop) forget(fd int) {
	if ring, ok := l.ring.(interface{ Forget(fd int) }); ok {
		ring.Forget(fd)
	}
}
