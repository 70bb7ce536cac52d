package sender

import (
	"sync"
	"sync/atomic"
)

// trampoline lets an algorithm run children one after another without growing the stack. The frame that calls a
// child's Start and the child's completion may be on different threads. They agree by the trampoline's state on which
// of them starts the next child:
//
//	inStart    beginChild     the frame is inside the child's Start
//	returned   nextChild      Start returned first: the completion starts the next child
//	completed  completeChild  the child completed inside Start: the frame starts the next child
//	finished   finish         the last child completed inside Start: the frame returns
//
// It is not part of the operation state, because the frame reads it after Start, when the operation may have
// completed and its owner may have reused the storage.
type trampoline struct{ state atomic.Uint32 }

// The states of a trampoline.
const (
	trampolineInStart uint32 = iota
	trampolineReturned
	trampolineCompleted
	trampolineFinished
)

// trampolines is the pool of idle trampolines. In the steady state it allocates nothing.
var trampolines = sync.Pool{New: func() any { return new(trampoline) }}

// beginChild marks a child as being started. The frame calls it before Start.
func (t *trampoline) beginChild() { t.state.Store(trampolineInStart) }

// nextChild reports whether the frame is to start the next child, after a child's Start has returned. If not, the frame
// must not use t again.
func (t *trampoline) nextChild() bool {
	step()
	if t.state.CompareAndSwap(trampolineInStart, trampolineReturned) {
		return false
	}
	step()
	if t.state.Load() == trampolineCompleted {
		return true
	}
	trampolines.Put(t)
	return false
}

// completeChild reports, in the completion of a child that is not the last, whether the frame that started the child
// will start the next one. If not, the caller has to.
func (t *trampoline) completeChild() bool {
	step()
	return t.state.CompareAndSwap(trampolineInStart, trampolineCompleted)
}

// finish ends the use of t by the completion of the last child. The last user of t, the frame or this call, puts it
// back into the pool.
func (t *trampoline) finish() {
	step()
	if !t.state.CompareAndSwap(trampolineInStart, trampolineFinished) {
		trampolines.Put(t)
	}
}

// trampolined is the part of an operation state that runs its children on a trampoline.
type trampolined struct{ trampoline *trampoline } // nil: the operation is idle

// begin takes a trampoline from the pool for Start.
func (x *trampolined) begin() {
	if x.trampoline != nil {
		panic("sender: Start of an operation that is in flight: wait for its completion, or use another operation state")
	}
	x.trampoline = trampolines.Get().(*trampoline)
}

// finish makes the operation idle. The operation calls its receiver after it.
func (x *trampolined) finish() {
	t := x.trampoline
	x.trampoline = nil
	t.finish()
}
