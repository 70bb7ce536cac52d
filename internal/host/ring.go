package host

import (
	"time"

	"github.com/reactord/reactord/uring"
)

// Ring is the ring of a loop. Its contract is package uring's. All methods but Wake are called on the loop's thread.
type Ring interface {
	// Enable binds the ring to the calling thread. It is called once, before the methods below.
	Enable() error
	// Push queues a copy of an entry. A full queue is submitted first, so there is always room.
	Push(sqe *uring.SQE)
	// Enter submits what is queued, and waits for a completion, a Wake or the timeout: 0 does not wait, a negative
	// timeout is none.
	Enter(timeout time.Duration) error
	// Pop takes one completion; false without one.
	Pop(cqe *uring.CQE) bool
	// Wake makes a waiting Enter, or the next one, return. From any thread.
	Wake() error
	Caps() uring.Caps
	Close() error

	// RegisterBuffers makes a group of len(mem)/size receive buffers, none of which is provided yet.
	RegisterBuffers(group uint16, mem []byte, size int) error
	// ProvideBuffer lets receives take the buffer. A completion that names the buffer takes it out of the ring.
	ProvideBuffer(group, id uint16)
}

// BufferTaker is a Ring that gives provided buffers back.
type BufferTaker interface {
	// TakeBuffer takes a buffer out of the ring; false: the ring has none that a receive does not use already.
	TakeBuffer(group uint16) (id uint16, ok bool)
}

// OverflowCounter is a Ring whose completion queue can be full, so that completions have to wait behind it.
type OverflowCounter interface {
	// Overflows returns how many times Enter has found such completions. From any thread, after Close too.
	Overflows() uint64
}

// MinWaiter is a Ring that can wait for at least a given time.
type MinWaiter interface {
	// SetMinWait makes an Enter that waits last for at least so long, unless its timeout or many completions end it.
	// After that time the first completion or a Wake ends the wait. It is called before Enable.
	SetMinWait(least time.Duration)
}

// Restricter is a Ring that can refuse operations.
type Restricter interface {
	// Restrict makes entries of other opcodes or with other flags complete with -EACCES, for good. It is called once,
	// before Enable.
	Restrict(to uring.Restrictions) error
}
