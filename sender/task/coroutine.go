package task

import (
	"iter"
	"sync"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
)

// coroutine runs the functions of tasks, one after another. It is either a coroutine of iter.Pull on the thread of a
// CoroutinePool, or a goroutine that lives for one function.
type coroutine struct {
	t          *T          // the task whose function runs; nil: idle
	goroutine  uintptr     // its own
	env        awaitEnv    // of what the task awaits
	resumption sender.Work // resumes the task
	states     *states     // free operation states for what the task awaits

	// Of a coroutine in a pool.
	pool       *CoroutinePool // nil: it is a goroutine
	resumePull func() (struct{}, bool)
	yield      func(struct{}) bool
	links      intrusive.Links // in pool.idle or pool.busy
	linkedStop *linkedStop
	outside    sender.Operation // what startOutside leaves to the scheduler; nil: nothing
	failure    *outsideFailure  // how that has failed; nil: it has not
	exited     bool             // its function called runtime.Goexit: it can run no other function
	stranded   bool             // its function does not end: it is never resumed again
	unwound    uint32           // Awaits since an Await has ended the function
	inspection *inspection      // it is resumed to look at its stack; nil: it is not

	// Of a goroutine: resume and suspend send here in turn.
	handoff chan struct{}
}

// coroutineOn returns a coroutine for a task on sch; nil if no task may begin there. It is called on sch.
func coroutineOn(sch sender.Scheduler) *coroutine {
	for {
		if s, ok := sch.(CoroutineScheduler); ok {
			return s.Coroutines().take()
		}
		w, ok := sch.(schedulerWrapper)
		if !ok {
			break
		}
		sch = w.Unwrap()
	}
	co := goroutines.Get().(*coroutine)
	go co.live()
	return co
}

// schedulerWrapper is a scheduler that stands for another one, such as sched.Any.
type schedulerWrapper interface{ Unwrap() sender.Scheduler }

// goroutines is the pool of coroutines whose goroutine has ended. Everything else of them is reused.
var goroutines = sync.Pool{New: func() any {
	co := &coroutine{handoff: make(chan struct{}), states: new(states)}
	co.resumption.Runner = (*resumption)(co)
	return co
}}

// begin makes t the task whose function runs.
func (co *coroutine) begin(t *T) {
	co.t = t
	co.env.parent, co.env.sch = t.env, t.sch
	if co.pool != nil && t.token.StopPossible() {
		t.token = co.linkTo(t.token)
	}
}

// live runs a coroutine that is not in a pool, on a goroutine that runs only between resume and suspend.
func (co *coroutine) live() {
	<-co.handoff
	defer func() { co.handoff <- struct{}{} }()
	co.goroutine = goroutine.Current()
	co.run()
}

// pull makes the coroutine on the thread of its pool. The runtime requires that it is resumed there, with the number
// of thread locks of this moment.
func (co *coroutine) pull() {
	co.resumption.Runner = (*resumption)(co)
	co.resumePull, _ = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		co.goroutine = goroutine.Current()
		co.pool.current = co.goroutine
		for co.t != nil { // else end has resumed it
			co.run()
			yield(struct{}{})
		}
	})
}

// goexitPanic replaces a runtime.Goexit that leaves a pulled coroutine: iter.Pull would forward the Goexit to the
// thread's own goroutine.
type goexitPanic struct{}

// run runs the function of the task.
func (co *coroutine) run() {
	t := co.t
	returned := false
	defer func() {
		t.returned = true
		if returned {
			return
		}
		if v := recover(); v != nil {
			t.err = sender.NewPanicError(v)
			return
		}
		if t.fate == unwinding {
			t.err = abandonReason(t.err)
		} else {
			t.err = sender.ErrGoexit
		}
		if co.exited = true; co.pool != nil {
			co.yield(struct{}{}) // the function has ended; unwind resumes from here
			panic(goexitPanic{})
		}
	}()
	t.err = t.task.call()
	returned = true
}

// resume runs the function until it is suspended or has returned.
func (co *coroutine) resume() {
	if co.pool == nil {
		co.handoff <- struct{}{}
		<-co.handoff
		return
	}
	p := co.pool
	if assert.Enabled {
		p.assertIdle()
	}
	p.current = co.goroutine
	co.resumePull()
	p.current = p.goroutine
}

// end ends a pulled coroutine that has no task.
func (co *coroutine) end() {
	defer func() { _ = recover() }() // the goexitPanic, if its function has called runtime.Goexit
	co.resumePull()
}

// suspend makes resume return, and returns when the task is resumed. The function calls it.
func (co *coroutine) suspend() {
	if co.pool == nil {
		co.handoff <- struct{}{}
		<-co.handoff
		return
	}
	co.pause()
}

// strand never returns. It makes resume return, as if the function had returned: its deferred functions await in a
// loop that does not end. The stack, and what it refers to, is lost.
func (co *coroutine) strand() {
	co.t.returned, co.t.err = true, abandonReason(co.t.err)
	co.stranded = true
	for {
		if co.pool == nil {
			co.handoff <- struct{}{}
			select {}
		}
		co.yield(struct{}{})
	}
}

// release gives the coroutine back when the function has returned. clean: all that was awaited has completed, and the
// resumption is not enqueued. It is called on the scheduler.
func (co *coroutine) release(clean bool) {
	co.t = nil
	co.unlink()
	co.env.detach()
	if clean {
		co.env.token, co.env.sch = stop.Token{}, nil
	}
	switch {
	case co.pool != nil:
		co.pool.put(co, clean)
	case clean:
		co.states.rest()
		co.exited = false
		goroutines.Put(co)
	}
}

// own reports whether the caller is the function that runs on the coroutine, or a coroutine of that function on the
// same thread.
func (co *coroutine) own() bool {
	return co != nil && (goroutine.Current() == co.goroutine || co.pool != nil && co.pool.onThread())
}
