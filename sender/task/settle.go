package task

import (
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
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
	dropped               // not complete, and the task has been cut short
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

// drop has the task, which is suspended, wait no longer. It does nothing if the operation is complete.
func (w *await) drop() { atomic.CompareAndSwapUint32(&w.state, parked, dropped) }

// settle says that the operation is complete. From then on its task may be cut short: what is touched
// here is the coroutine's, which is not used again in that case.
func (w *await) settle() {
	if !w.confined {
		if atomic.SwapUint32(&w.state, settled) == parked {
			w.co.env.sch.Enqueue(&w.co.work)
		}
		return
	}
	if assert.Enabled && w.co.home != nil && !w.co.home.here() {
		panic("task: an operation completed elsewhere than its sender declares")
	}
	was := w.state
	w.state = settled
	if was == parked {
		w.co.home.enqueue(w.co)
	}
}

// confines tells whether operations of a sender with this completion need no atomics.
func (co *coroutine) confines(c sender.CompletionBehavior) bool {
	return c == sender.Inline || c == sender.Affine && co.home != nil && co.home.Wake != nil
}
