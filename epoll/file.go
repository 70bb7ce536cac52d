//go:build linux

package epoll

import (
	"github.com/reactord/reactord/internal/assert"
	"golang.org/x/sys/unix"
)

// file records what the ring knows of one descriptor number.
type file struct {
	generation uint32 // distinguishes this use of the number from earlier ones; the epoll set returns it with events
	inFlight   uint32 // entries in flight on it
	nextReady  int32  // the next descriptor on the ready list, plus one

	in    list // entries that wait to receive, read or accept
	out   list // entries that wait to send, write or connect
	watch list // polls and out-of-band receives: every event is shown to all of them, when it is taken

	phase  phase
	kind   kind
	input  input
	output output
	flags  fileFlags
}

// phase says how the ring treats a descriptor.
//
//	unknown, accepted → polled   register: the descriptor is now in the epoll set
//	unknown, accepted → plain    classify: epoll(7) refused the descriptor
//	any               → accepted adopt: an accept returned the number
//	any               → unknown  reset: the descriptor was closed, or another file has its number
type phase uint8

const (
	unknown  phase = iota // nothing is known of the number
	accepted              // this ring accepted it and has not used it since
	polled                // it is in the epoll set
	plain                 // it cannot be waited for: a regular file or the like
)

// kind is the part of a file's type that decides how it is read and written. It is only known of a polled file.
type kind uint8

const (
	other     kind = iota // not a socket: a pipe, an eventfd, a terminal
	datagrams             // a socket with message boundaries and without connections
	packets               // a socket with message boundaries and connections
	stream                // a socket with connections
	tcp                   // a stream of which a short receive says that it is drained
)

// input says what a receive will find.
//
//	empty           → ready      tryInput: an event is not needed, or has said so
//	empty, ready    → signalled  signalInput: an event has reported EOF, an error or urgent data
//	ready           → empty      drainInput: a receive was short
//	ready, signalled → empty     clearInput: a receive found nothing (EAGAIN)
type input uint8

const (
	inputEmpty     input = iota // nothing; an event will tell
	inputReady                  // perhaps something
	inputSignalled              // the same; and a short receive does not say that it was drained
)

// tryInput makes the next receive an attempt without an event.
func (f *file) tryInput() { f.input = max(f.input, inputReady) }

func (f *file) signalInput() { f.input = inputSignalled }

func (f *file) drainInput() {
	if f.input == inputReady {
		f.input = inputEmpty
	}
}

func (f *file) clearInput() { f.input = inputEmpty }

// output says whether a send may find room.
//
//	open    → full     fillOutput: a send found no room (EAGAIN)
//	full    → open     openOutput: an event has reported room, or it is time to try again
//	open    → writing  beginWrite: a write of a plain file went to the pool
//	writing → open     endWrite: the write has completed
type output uint8

const (
	outputOpen    output = iota
	outputFull           // no; an event will tell
	outputWriting        // of a plain file: another write is at work, and the next one waits for it
)

func (f *file) fillOutput() { f.output = outputFull }

func (f *file) openOutput() {
	if f.output == outputFull {
		f.output = outputOpen
	}
}

func (f *file) beginWrite() { f.output = outputWriting }

func (f *file) endWrite() { f.output = outputOpen }

// fileFlags are facts about a file that do not depend on each other.
type fileFlags uint16

const (
	onReadyList    fileFlags = 1 << iota
	connected                // an event has reported room, and neither an error nor an end, since a connect started
	connectUnasked           // the last connect has ended, by its event, and connect(2) was not called again
	expectedTCP              // see ExpectTCP
	sole                     // as far as the ring knows, it has no duplicate
	closeRequested           // a close came; the number is freed when the last entry in flight has left
	nonblocking              // the ring has made sure that O_NONBLOCK is set
	callerBlocks             // the caller had not set O_NONBLOCK
	listening                // connections were accepted from it
	receiveShut              // a datagram socket that will receive nothing more
	canZeroCopy              // the kernel can send from it without copying: TCP and UDP
	hasOffsets               // it is polled and is read and written at offsets all the same: a file of procfs
	wholeTransfers           // it is plain, and a short transfer is continued: a regular file or a block device
	unbuffered               // it is plain, and every transfer waits for the device: O_DIRECT
)

func (f *file) is(flags fileFlags) bool { return f.flags&flags != 0 }

// listOf returns the list of the entries that wait in a state.
func (f *file) listOf(s entryState) *list {
	switch s {
	case waitsForInput:
		return &f.in
	case waitsForOutput:
		return &f.out
	case watches:
		return &f.watch
	}
	panic("epoll: an entry that does not wait for a file is in none of its lists")
}

// ready reports whether an entry can be attempted.
func (f *file) ready() bool {
	return f.in.head != 0 && f.input != inputEmpty ||
		f.out.head != 0 && f.output == outputOpen
}

// reset makes f a new use of its number. It may still be on the ready list.
func (f *file) reset(p phase) {
	if assert.Enabled && f.inFlight != 0 {
		panic("epoll: a descriptor was closed and its number used again while entries were in flight on it")
	}
	*f = file{
		generation: f.generation + 1, inFlight: f.inFlight, nextReady: f.nextReady,
		phase: p, flags: f.flags & onReadyList,
	}
}

// signal records an event.
func (f *file) signal(events uint32) {
	const ends = unix.EPOLLPRI | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	switch {
	case events&ends != 0:
		f.signalInput()
	case events&unix.EPOLLIN != 0:
		f.tryInput()
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		f.openOutput()
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) == unix.EPOLLOUT {
		f.flags |= connected
	}
}
