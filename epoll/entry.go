//go:build linux

package epoll

import (
	"unsafe"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/uring"
)

// entry is an operation in flight: the submission entry, and what the ring adds to it. Entries live in pages that never
// move, and name each other by index, so that the garbage collector has nothing to follow. Index 0 is no entry.
type entry struct {
	core
	index uint32 // its own
	done  uint32 // bytes moved by earlier attempts
	next  uint32 // its neighbours in a list (see list); next alone links the free entries
	prev  uint32
	chain uint32 // the next entry in its bucket of the user_data table
	msg   uint32 // its message (see messages), or 0
	buf   uint16 // the provided buffer that it holds, if holdsBuffer is set
	state entryState
	flags entryFlags
}

// core is the part of a submission entry that means something to an opcode of this ring: the beginning of a uring.SQE.
type core struct {
	Opcode      uring.Op
	Flags       uint8
	Ioprio      uint16
	Fd          int32
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32
	UserData    uint64
	BufIndex    uint16
	Personality uint16
	FileIndex   int32
}

// The layouts must agree.
const _ = -(unsafe.Offsetof(core{}.FileIndex) ^ unsafe.Offsetof(uring.SQE{}.FileIndex))

// entryState says where an entry is.
//
//	free   → queued   take: Push has copied a submission
//	queued → issued   issue: its opcode is being interpreted
//	issued → waitsForInput, waitsForOutput, watches, pooled, waitsForChild   park
//	waitsForInput, waitsForOutput ↔ pooled   move: the pool does the next part, or it has done its part
//	any of these five → issued   unpark
//	issued → free     release: it has completed
type entryState uint8

const (
	free           entryState = iota
	queued                    // pushed, not submitted
	issued                    // being interpreted
	waitsForInput             // in its file's list of entries that receive, read or accept
	waitsForOutput            // in its file's list of entries that send, write or connect
	watches                   // in its file's list of polls and out-of-band receives
	pooled                    // a worker of the pool, or io_submit(2), has its system call
	waitsForChild             // in the list of entries that wait for a child process
)

// inFlight reports whether an entry in the state can be found by a cancel.
func (s entryState) inFlight() bool { return s >= waitsForInput }

// follows reports whether an entry may go from one state to another.
func (s entryState) follows(from entryState) bool {
	switch s {
	case free:
		return from == issued || from == queued
	case queued:
		return from == free
	case issued:
		return from == queued || from.inFlight()
	default:
		return from == issued || from.inFlight()
	}
}

// to changes the state.
func (e *entry) to(s entryState) {
	if assert.Enabled && !s.follows(e.state) {
		panic("epoll: an entry makes a step that its state does not allow")
	}
	e.state = s
}

// entryFlags are facts about an entry that do not depend on each other.
type entryFlags uint16

const (
	holdsBuffer    entryFlags = 1 << iota // it holds a provided buffer between two attempts
	hasAddr3                              // the field Addr3 of the submission is not 0
	connectStarted                        // connect(2) said EINPROGRESS
	connectAborted                        // connect(2) said ECONNABORTED once
	postedItem                            // a multishot receive has posted since it last found nothing
	notifies                              // a notification follows its completion
	onSource                              // a splice that waits in a list of the descriptor that it takes from
	splicedInVain                         // a splice that found nothing to do although both descriptors were ready
	writesPlain                           // a write: its plain file is in outputWriting because of it
	addedNonblock                         // an open: the ring has added O_NONBLOCK
)

func (e *entry) is(flags entryFlags) bool { return e.flags&flags != 0 }

// selectsBuffer reports whether an entry asks for a provided buffer.
func (e *entry) selectsBuffer() bool { return e.Flags&uring.SQEBufferSelect != 0 }

// multishot reports whether a receive has many completions.
func (e *entry) multishot() bool { return e.Ioprio&uring.RecvMultishot != 0 }

// host returns the descriptor whose lists an entry is in.
func (e *entry) host() int32 {
	if e.is(onSource) {
		return e.FileIndex
	}
	return e.Fd
}

// countsOn reports on how many descriptors an entry in flight counts: Fd, and FileIndex as well.
func (e *entry) countsOn() (fd, fileIndex bool) {
	switch e.Opcode {
	case uring.OpSplice, uring.OpTee:
		return true, true
	case uring.OpOpenat, uring.OpStatx, uring.OpRenameat, uring.OpUnlinkat, uring.OpMkdirat, uring.OpSymlinkat,
		uring.OpLinkat, uring.OpWaitid:
		return false, false
	}
	return true, false
}
