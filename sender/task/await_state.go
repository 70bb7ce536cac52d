package task

import (
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
)

// await is the state that an awaited operation and its task share. By its state they agree on how the task continues:
//
//	awaitPending   --complete-->     awaitCompleted  the task continues without a resumption
//	awaitPending   --setSuspended--> awaitSuspended
//	awaitSuspended --complete-->     awaitCompleted  complete enqueues the resumption of the task
//	awaitSuspended --abandon-->      awaitAbandoned  the completion is dropped
type await struct {
	co    *coroutine
	state uint32 // between Start and the completion accessed atomically, unless confined
	// confined: the operation completes on the thread of the task, as its sender has declared.
	confined bool
	outside  bool   // it is started by startOutside
	kind     uint16 // of awaitKinds
}

func newAwait(co *coroutine, c sender.CompletionBehavior, kind uint16) await {
	confined := co.confines(c)
	return await{co: co, confined: confined, outside: confined && c != sender.Inline, kind: kind}
}

const (
	awaitPending   uint32 = iota // not completed, and the task has not been suspended yet
	awaitSuspended               // not completed, and the task is suspended
	awaitCompleted
	awaitAbandoned // not completed, and the task no longer waits
)

// setSuspended records that the task has been suspended. It returns false if the operation has completed: then the
// caller resumes the task.
func (w *await) setSuspended() bool {
	if w.confined {
		if w.state == awaitCompleted {
			return false
		}
		w.state = awaitSuspended
		return true
	}
	return atomic.CompareAndSwapUint32(&w.state, awaitPending, awaitSuspended)
}

// abandon ends the wait of the task, which is suspended. It does nothing if the operation has completed.
func (w *await) abandon() { atomic.CompareAndSwapUint32(&w.state, awaitSuspended, awaitAbandoned) }

// complete records that the operation has completed, and resumes a suspended task. From then on its task may continue,
// or be abandoned: complete only touches the coroutine, which is not reused in that case.
func (w *await) complete() {
	if !w.confined {
		co := w.co
		if atomic.SwapUint32(&w.state, awaitCompleted) == awaitSuspended {
			co.env.sch.Enqueue(&co.resumption)
		}
		return
	}
	if assert.Enabled && w.co.pool != nil && !w.co.pool.here() {
		panic("task: an operation completed on another thread than its CompletionBehavior declares")
	}
	previous := w.state
	w.state = awaitCompleted
	if previous == awaitSuspended {
		w.co.pool.enqueue(w.co)
	}
}

// confines reports whether operations of a sender with this completion behavior need no atomics.
func (co *coroutine) confines(c sender.CompletionBehavior) bool {
	return c == sender.Inline || c == sender.Affine && co.pool != nil && co.pool.Wake != nil
}
