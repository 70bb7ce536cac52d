package task

import (
	"iter"
	"sync"

	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
)

// coroutine runs the functions of tasks, one after another: on the thread of its home, or on a
// goroutine of its own that lives for one function.
type coroutine struct {
	t         *T          // whose function runs; nil: nobody's
	goroutine uintptr     // its own
	env       env         // of what the task awaits
	work      sender.Work // the task's turn, but for the first
	cache     []cached    // operation states of what was awaited, one of a type

	home       *CoroutinePool // nil: a goroutine of its own
	next       func() (struct{}, bool)
	stop       func()
	yield      func(struct{}) bool
	prev, succ *coroutine
	link       *link
	exited     bool // by Goexit: it runs nothing any more

	hand chan struct{} // the turn of a goroutine, there and back
}

// cached is an operation state that may be used again.
type cached interface{ clear() }

// maxCached bounds what an idle coroutine keeps: more types than that is not a loop.
const maxCached = 16

// coroutineOn is a coroutine for a task on sch, or nil if sch takes no more. It is called on sch.
func coroutineOn(sch sender.Scheduler) *coroutine {
	for {
		if r, ok := sch.(CoroutineScheduler); ok {
			return r.Coroutines().take()
		}
		w, ok := sch.(wrapper)
		if !ok {
			break
		}
		sch = w.Unwrap()
	}
	co := goroutines.Get().(*coroutine)
	go co.live()
	return co
}

// wrapper is a scheduler that is another one, such as sched.Any.
type wrapper interface{ Unwrap() sender.Scheduler }

// goroutines are coroutines whose goroutine has ended; what is reused is the rest.
var goroutines = sync.Pool{New: func() any {
	co := &coroutine{hand: make(chan struct{})}
	co.work.Runner = (*turn)(co)
	return co
}}

// begin makes t the task whose function runs.
func (co *coroutine) begin(t *T) {
	co.t = t
	co.env.parent, co.env.sch = t.env, t.sch
	if co.home != nil && t.token.StopPossible() {
		t.token = co.linkTo(t.token)
	}
}

// live is the goroutine of a coroutine that has one. It runs in strict turn with whoever calls resume.
func (co *coroutine) live() {
	<-co.hand
	defer func() { co.hand <- struct{}{} }()
	co.goroutine = goroutine.Current()
	co.run()
}

// pull makes a coroutine on the thread of its home. The runtime demands that it is resumed there, under
// the thread locks of this moment.
func (co *coroutine) pull() {
	co.work.Runner = (*turn)(co)
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		co.goroutine = goroutine.Current()
		co.home.on = co.goroutine
		for {
			co.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
}

// goexit is what a Goexit is turned into on its way out of a pulled coroutine, for iter.Pull would pass
// it on to the thread's own goroutine.
type goexit struct{}

// run runs the function of a task.
func (co *coroutine) run() {
	t := co.t
	returned := false
	defer func() {
		t.ended = true
		if returned {
			return
		}
		if v := recover(); v != nil {
			t.err = sender.NewPanicError(v)
			return
		}
		if t.fate == leaving {
			t.err = why(t.err)
		} else {
			t.err = sender.ErrGoexit
		}
		if co.exited = true; co.home != nil {
			co.yield(struct{}{}) // the function has ended; what comes then is for unwind
			panic(goexit{})
		}
	}()
	t.err = t.task.call()
	returned = true
}

// resume lets the function run until it is suspended or has returned.
func (co *coroutine) resume() {
	if co.home == nil {
		co.hand <- struct{}{}
		<-co.hand
		return
	}
	h := co.home
	if assert.Enabled {
		h.assertIdle()
	}
	h.on = co.goroutine
	co.next()
	h.on = h.goroutine
}

// unwind ends a pulled coroutine whose function has called Goexit.
func (co *coroutine) unwind() {
	defer func() { _ = recover() }() // the goexit
	co.stop()
}

// suspend is called by the function to have resume return.
func (co *coroutine) suspend() {
	if co.home == nil {
		co.hand <- struct{}{}
		<-co.hand
		return
	}
	co.yield(struct{}{})
}

// release gives the coroutine back once the function has returned. clean: what was awaited is complete, and no
// turn is under way. It is called on the scheduler.
func (co *coroutine) release(clean bool) {
	co.t = nil
	co.unlink()
	co.env.sever()
	if clean {
		co.env.token, co.env.sch = stop.Token{}, nil
		if len(co.cache) > maxCached {
			co.cache = nil
		}
		for _, x := range co.cache {
			x.clear()
		}
	}
	switch {
	case co.home != nil:
		co.home.put(co)
	case clean:
		co.exited = false
		goroutines.Put(co)
	}
}

// own tells whether the caller is the function that runs on the coroutine, or a coroutine of that one's on the same
// thread.
func (co *coroutine) own() bool {
	return co != nil && (goroutine.Current() == co.goroutine || co.home != nil && co.home.onThread())
}
