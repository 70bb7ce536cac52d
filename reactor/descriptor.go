//go:build linux

package reactor

import (
	"fmt"
	"io/fs"
	"net"
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"golang.org/x/sys/unix"
)

// errClosed is the error of operations on a closing descriptor.
var errClosed error = closedError{}

// closedError matches the errors that packages os and net have for a closed file.
type closedError struct{}

func (closedError) Error() string { return "use of a closed descriptor" }

func (closedError) Is(target error) bool { return target == net.ErrClosed || target == fs.ErrClosed }

// Descriptor is an open file of any kind that belongs to a loop. It counts the operations in flight on it, so that it
// is never closed under one of them. Embed it in the structure that owns it, and do not copy it. All its methods are
// called on the loop's thread. [Socket], [File], [Pipe] and [Event] are Descriptors with further operations.
type Descriptor struct {
	_        noCopy
	loop     *Loop
	joining  *joinOp  // waits for pending to become 0
	inFlight slotList // the slots of the operations in flight, the last started first, without others
	source   *op      // the sequence in progress, if any
	sending  *op      // the send in flight, if any
	fd       int32
	pending  int32  // operations in flight
	others   int32  // those of them that another descriptor lists, see op.second
	self     uint32 // where Init was called, so that a copy is noticed: see address; 0: it never was
	state    descriptorState
	drained  bool // the last Recv left nothing, so that the next one polls first
	knownFD
}

// knownFD caches properties of an open file, whichever loop it belongs to.
type knownFD struct {
	peerEnded bool  // a receive or a poll has found EOF
	readShut  bool  // a socket was shut down for receiving
	family    uint8 // AF_INET, … of a socket; 0 if not asked for yet
	kind      uint8 // SOCK_STREAM, … of a socket; 0 if not asked for yet
	tcp       bool  // it is known to be a TCP socket with O_NONBLOCK, and the ring was not told yet
}

// descriptorState is the state of a Descriptor. Init opens it again.
//
//	open → quiescing     Quiesce was started: what is in flight is cancelled, and what is started completes stopped
//	quiescing → open     nothing is in flight
//	open, quiescing → closing   Close was started: the same, but with errClosed
//	closing → closed   nothing is in flight, and close(2) has returned
type descriptorState uint8

const (
	descriptorOpen descriptorState = iota
	descriptorQuiescing
	descriptorClosing
	descriptorClosed
)

// Init takes over fd, which only [Descriptor.Close] closes from now on. The Descriptor must be new, or closed. From any
// thread, if no other one uses the Descriptor.
func (d *Descriptor) Init(l *Loop, fd int) {
	switch {
	case l == nil:
		panic("reactor: Init of a descriptor without a Loop: give it the Loop that its operations run on")
	case d.pending != 0:
		panic("reactor: Init of a descriptor with operations in flight: await Close first, or use a new one")
	case !l.owned.take(int32(fd)):
		panic(fmt.Sprintf("reactor: Init of descriptor %d, which another Descriptor of this Loop owns: share that one; "+
			"if it was closed by another way, close it with Descriptor.Close", fd))
	}
	*d = Descriptor{loop: l, fd: int32(fd)}
	d.self = d.address()
}

// Release gives the descriptor, which has had no operation yet, to the caller, who closes it or gives it to another
// Descriptor. From any thread, if no other one uses the Descriptor. It is closed then, and may be used again.
func (d *Descriptor) Release() (fd int) {
	if d.pending != 0 {
		panic("reactor: Release of a descriptor with operations in flight: it can only be released before the first one")
	}
	fd = int(d.fd)
	d.disown()
	d.state, d.fd = descriptorClosed, -1
	return fd
}

// address returns the value that self must have. The bits that are cut off tell apart only what is 32 GiB away.
func (d *Descriptor) address() uint32 { return uint32(uintptr(unsafe.Pointer(d)) >> 3) }

// disown notes that the descriptor has left the loop. It is called before the close: from then on another Descriptor
// may get the number.
func (d *Descriptor) disown() { d.loop.owned.drop(d.fd) }

// assertUsable panics if the descriptor is no longer where Init was called, or belongs to another loop than l.
func (d *Descriptor) assertUsable(l *Loop, run operation) {
	switch {
	case d.loop != l:
		panic(fmt.Sprintf("reactor: Start of a %T whose descriptor was moved to another loop since Connect: "+
			"connect it again, on that loop", run))
	case d.self != d.address():
		panic(fmt.Sprintf("reactor: Start of a %T on a copy of a descriptor: a Socket, File, Pipe or Event stays where it "+
			"was opened, so keep it, and what it is a part of, by a pointer", run))
	}
}

// Fd returns the number of the descriptor, which the Descriptor still owns; negative when it is closed.
func (d *Descriptor) Fd() int { return int(d.fd) }

// Loop returns the loop that the descriptor belongs to; nil before Init.
func (d *Descriptor) Loop() *Loop { return d.loop }

// Dup returns a new descriptor of the same open file, with FD_CLOEXEC, which the caller owns. It may be called on any
// thread while the Descriptor is not being closed. See fcntl(2), F_DUPFD_CLOEXEC.
func (d *Descriptor) Dup() (int, error) {
	return d.loop.sys.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
}

// Pending returns the number of operations in flight on the descriptor.
func (d *Descriptor) Pending() int { return int(d.pending) }

// enter adds a started operation, by its slot, to those in flight.
func (d *Descriptor) enter(slot uint32) {
	d.pending++
	d.loop.slots.pushFront(&d.inFlight, onDescriptor, slot)
}

// leave removes a completed operation from those in flight.
func (d *Descriptor) leave(slot uint32) {
	d.loop.slots.remove(&d.inFlight, onDescriptor, slot)
	d.released()
}

// cancel cancels all operations in flight, one by one. The kernel's cancel by descriptor would search everything that
// the ring waits for, and would also cancel operations on duplicates of the descriptor.
func (d *Descriptor) cancel() {
	slots := &d.loop.slots
	for named := d.inFlight.first; named != 0; {
		next := slots.linksOf(named, onDescriptor).next
		slots.at(named - 1).run.cancel()
		named = next
	}
	if d.others != 0 {
		d.cancelOthers()
	}
}

// released counts an operation that has completed, and lets what waits to join them proceed after the last one.
func (d *Descriptor) released() {
	d.pending--
	if assert.Enabled && d.pending < 0 {
		panic("reactor: a descriptor lost count of its operations")
	}
	if d.pending == 0 && d.joining != nil {
		d.joining.joined()
	}
}
