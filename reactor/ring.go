package reactor

import (
	"time"

	"github.com/reactord/reactord/uring"
)

// Ring is what a Loop needs of a ring. uring.Ring and epoll.Ring have it; the contract is that of
// package uring. All but Wake are called on the loop's thread.
type Ring interface {
	Enable() error                     // bind the ring to the calling thread
	Push(sqe *uring.SQE)               // queue a copy of one entry; it always finds room
	Enter(timeout time.Duration) error // submit what is queued; wait for a completion, a Wake, or the timeout (0: only look; < 0: no limit)
	Pop(cqe *uring.CQE) bool           // take one completion
	Wake() error                       // from any thread: make a waiting Enter return
	Caps() uring.Caps
	Close() error

	// RegisterBuffers makes a group of len(mem)/size receive buffers, none of which is provided yet.
	RegisterBuffers(group uint16, mem []byte, size int) error
	// ProvideBuffer lets receives take the buffer; a completion that names it takes it back.
	ProvideBuffer(group, id uint16)
}

// minWaiter is what else a Ring needs for LoopConfig.MinWait.
type minWaiter interface {
	// SetMinWait has an Enter that waits go on until least has passed, or the timeout, unless many completions are there.
	// After that the first completion or a Wake ends the wait. Called before Enable.
	SetMinWait(least time.Duration)
}
