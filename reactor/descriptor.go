package reactor

import (
	"io/fs"
	"net"

	"github.com/reactord/reactord/internal/assert"
)

// errClosed is what operations on a closing descriptor complete with.
var errClosed error = closedError{}

// closedError matches both of the errors that package os and package net have for it.
type closedError struct{}

func (closedError) Error() string { return "use of a closed descriptor" }

func (closedError) Is(target error) bool { return target == net.ErrClosed || target == fs.ErrClosed }

// Descriptor is an open file of any kind that belongs to a loop. It counts the operations in flight on it, so
// that it is never closed under one. It is embedded in what it belongs to, is not copied, and all its methods
// are called on the loop's thread. Socket, File and Pipe are Descriptors of which more is known.
type Descriptor struct {
	loop    *Loop
	closer  *CloseOp // waits for pending to become 0
	slots   *slot    // the operations in flight, the last started first, but for those of others
	source  *op      // the sequence in progress, if any
	sending *op      // the send in flight, if any
	fd      int32
	pending int32 // operations in flight
	others  int32 // those of them that are listed by another descriptor, see op.second
	state   descriptorState

	drained   bool  // the last Recv left nothing, so that the next one waits first
	peerEnded bool  // a receive or a poll has found the peer's end
	readShut  bool  // a socket was shut down for receiving
	family    uint8 // AF_INET, … of a socket; 0: nobody has asked yet
	kind      uint8 // SOCK_STREAM, … of a socket; 0: nobody has asked yet
}

type descriptorState uint8

const (
	descriptorOpen descriptorState = iota
	descriptorClosing
	descriptorClosed
)

// Init takes fd over, which from now on is closed by Close only. The Descriptor must be new, or closed.
func (d *Descriptor) Init(l *Loop, fd int) {
	if d.pending != 0 {
		panic("reactor: Init of a descriptor with operations in flight")
	}
	*d = Descriptor{loop: l, fd: int32(fd)}
}

// Fd is the number of the descriptor, which stays the Descriptor's; negative once it is closed.
func (d *Descriptor) Fd() int { return int(d.fd) }

// Loop is the loop that the descriptor belongs to; nil before Init.
func (d *Descriptor) Loop() *Loop { return d.loop }

// Pending is the number of operations in flight on the descriptor.
func (d *Descriptor) Pending() int { return int(d.pending) }

// enter puts an operation that was started among those in flight.
func (d *Descriptor) enter(s *slot) {
	d.pending++
	if s.next = d.slots; s.next != nil {
		s.next.prev = s
	}
	d.slots = s
}

// leave takes an operation that is over from among those in flight.
func (d *Descriptor) leave(s *slot) {
	if s.prev == nil {
		d.slots = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	d.released()
}

// cancel cancels all that is in flight, by asking each operation: the kernel's cancel by descriptor would look
// through all that the ring waits for, and would also hit operations on duplicates of the descriptor.
func (d *Descriptor) cancel() {
	for s := d.slots; s != nil; {
		next := s.next
		s.run.cancel()
		s = next
	}
	if d.others != 0 {
		d.cancelOthers()
	}
}

// released is called when an operation on the descriptor is over.
func (d *Descriptor) released() {
	d.pending--
	if assert.Enabled && d.pending < 0 {
		panic("reactor: a descriptor lost count of its operations")
	}
	if d.pending == 0 && d.closer != nil {
		d.closer.joined()
	}
}
