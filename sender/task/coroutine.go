package task

import (
	"errors"
	"iter"
	"sync"
	"syscall"
	"unsafe"

	"github.com/reactord/reactord/sender"
)

// ErrGoexit is what a task completes with whose function called runtime.Goexit.
var ErrGoexit = errors.New("task: the function called runtime.Goexit")

// coroutine runs the functions of tasks, one after another: on the thread of its home, or on a
// goroutine of its own that lives for one function.
type coroutine struct {
	t     *T       // whose function runs
	cache []cached // operation states of what was awaited, one of a type

	home       *Home // nil: a goroutine of its own
	next       func() (struct{}, bool)
	stop       func()
	yield      func(struct{}) bool
	block      uintptr // of the stack; see assertHere
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
		if r, ok := sch.(Resident); ok {
			return r.Home().take()
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
var goroutines = sync.Pool{New: func() any { return &coroutine{hand: make(chan struct{})} }}

// live is the goroutine of a coroutine that has one. It runs in strict turn with whoever calls resume.
func (co *coroutine) live() {
	<-co.hand
	defer func() { co.hand <- struct{}{} }()
	co.run()
}

// pull makes a coroutine on the thread of its home. The runtime demands that it is resumed there, under
// the thread locks of this moment.
func (co *coroutine) pull() {
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
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
		if t.err = ErrGoexit; t.fate == leaving {
			t.err = sender.ErrStopped
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
	if debug {
		co.home.enter()
		defer co.home.exit()
	}
	co.next()
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

// release gives the coroutine back once the function has returned. clean: what was awaited is complete.
// It is called on the scheduler.
func (co *coroutine) release(clean bool) {
	if clean {
		co.t = nil
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

// here tells whether the coroutine can be resumed by the caller.
func (co *coroutine) here() bool { return co.home == nil || co.home.tid == syscall.Gettid() }

// minStack is the smallest stack of a goroutine, in bits: stacks are multiples of 2 KiB, and begin at
// multiples of that.
const minStack = 11

// assertHere panics if it is not called on the coroutine's thread: to switch from another would end the
// program. Asking for the thread takes a system call; but two addresses of the same 2 KiB are of the
// same stack, and so as long as the function awaits from about the same depth it is not asked again.
func (co *coroutine) assertHere() {
	if co.home == nil {
		return
	}
	var local byte
	block := uintptr(unsafe.Pointer(&local)) >> minStack
	if block == co.block {
		return
	}
	if !co.here() {
		panic("task: Await on a goroutine that is not the task's")
	}
	co.block = block
}
