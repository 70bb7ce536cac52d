package task

import (
	"runtime"

	"github.com/reactord/reactord/sender"
)

// A coroutine begins with a stack of 2 KiB, of which it can use a little more than the half. If that is not enough it
// gets one of 4 KiB, and a stack that has grown once hardly ever shrinks. So what needs much stack, and needs not be on
// the coroutine's, is left to the goroutine of the scheduler: the coroutine is suspended anyway.

// outside is what a coroutine in a pool leaves to the goroutine of the scheduler.
type outside struct {
	op     sender.Operation // to be started there; nil: nothing
	failed bool             // its Start has not returned, because of
	value  any              // this panic; nil: runtime.Goexit
}

// startOutside starts op on the goroutine of the scheduler. It returns when w has completed, or the task is abandoned;
// if w is nil, when op has been started. If Start panics, so does startOutside, and likewise for runtime.Goexit.
func (t *T) startOutside(op sender.Operation, w *await) {
	co := t.co
	co.outside.op, t.wait = op, w
	co.yield(struct{}{})
	if co.outside.failed {
		co.failLikeOutside()
	}
}

func (co *coroutine) failLikeOutside() {
	v := co.outside.value
	co.outside = outside{}
	if v == nil {
		runtime.Goexit()
	}
	panic(v)
}

// start starts what the coroutine, which is suspended, has left to the scheduler.
func (co *coroutine) start() {
	op := co.outside.op
	co.outside.op = nil
	returned := false
	defer func() {
		if !returned {
			co.startFailed(recover())
		}
	}()
	op.Start()
	returned = true
}

// startFailed has the coroutine resumed. v is what Start has panicked with; nil: it ends this goroutine.
func (co *coroutine) startFailed(v any) {
	co.outside.failed, co.outside.value = true, v
	co.t.wait = nil
	switch {
	case v != nil: // start returns
	case co.pool.Wake != nil:
		co.pool.enqueue(co)
	default:
		co.env.sch.Enqueue(&co.resumption)
	}
}
