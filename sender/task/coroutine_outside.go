package task

import (
	"runtime"

	"github.com/reactord/reactord/sender"
)

// A coroutine begins with a stack of 2 KiB, of which it can use a little more than the half. If that is not enough it
// gets one of 4 KiB, and a stack that has grown once hardly ever shrinks. So what needs much stack, and needs not be on
// the coroutine's, is left to the goroutine of the scheduler: the coroutine is suspended anyway.

// outsideFailure says that the Start of an operation has not returned.
type outsideFailure struct {
	value any // what it has panicked with; nil if it has called runtime.Goexit
}

// startOutside starts op on the goroutine of the scheduler. It returns when w has completed, or the task is abandoned;
// if w is nil, when op has been started. If Start panics, so does startOutside, and likewise for runtime.Goexit. On a
// goroutine it starts op itself.
func (t *T) startOutside(op sender.Operation, w *await) {
	co := t.co
	if co.pool == nil {
		op.Start()
		return
	}
	co.outside, t.wait = op, w
	co.pause()
	if co.failure != nil {
		co.fail()
	}
}

// fail ends startOutside as Start has ended.
func (co *coroutine) fail() {
	v := co.failure.value
	co.failure = nil
	if v == nil {
		runtime.Goexit()
	}
	panic(v)
}

// start starts what the coroutine, which is suspended, has left to the scheduler.
func (co *coroutine) start() {
	op := co.outside
	co.outside = nil
	returned := false
	defer func() {
		if !returned {
			co.startFailed(recover())
		}
	}()
	op.Start()
	returned = true
}

// startFailed resumes the coroutine with the failure of Start. v is what Start has panicked with; nil if it ends this
// goroutine.
func (co *coroutine) startFailed(v any) {
	co.failure = &outsideFailure{v}
	co.t.wait = nil
	switch {
	case v != nil: // start returns, and T.resume resumes the coroutine
	case co.pool.Wake != nil:
		co.pool.enqueue(co)
	default:
		co.env.sch.Enqueue(&co.resumption)
	}
}
