package task

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// await is what an awaited operation has to do with its task: the two agree by its state on who goes
// on, the task without having been suspended, or whoever completes the operation by arranging for its turn.
type await struct {
	co    *coroutine
	state uint32 // from Start to the completion atomic, unless confined
	// confined: the operation completes on the thread of the task, as its sender has declared.
	confined bool
}

const (
	pending uint32 = iota // not complete, and the task not suspended yet
	parked                // not complete, and the task suspended
	settled               // complete
	dropped               // not complete, and the task waits no longer
)

// park is asked once the task has been suspended: does it wait?
func (w *await) park() bool {
	if w.confined {
		if w.state == settled {
			return false
		}
		w.state = parked
		return true
	}
	return atomic.CompareAndSwapUint32(&w.state, pending, parked)
}

// drop is asked in order to cut the task short: did it wait?
func (w *await) drop() bool { return atomic.CompareAndSwapUint32(&w.state, parked, dropped) }

// settle says that the operation is complete.
func (w *await) settle() {
	if !w.confined {
		if atomic.SwapUint32(&w.state, settled) == parked {
			t := w.co.t
			t.sch.Enqueue(&t.work)
		}
		return
	}
	if debug && !w.co.here() {
		panic("task: an operation completed elsewhere than its sender declares")
	}
	was := w.state
	w.state = settled
	if was == parked {
		w.co.home.enqueue(w.co.t)
	}
}

// confines tells whether operations of a sender with this completion need no atomics.
func (co *coroutine) confines(c sender.Completion) bool {
	return c == sender.Inline || c == sender.Affine && co.home != nil && co.home.Wake != nil
}
