package task

import (
	"syscall"

	"github.com/reactord/reactord/sender"
)

// Resident is a scheduler that coroutines can live on: it runs all its work on one goroutine that is
// locked to its thread, under the same number of locks each time, and none of it inside another. Tasks
// on it are coroutines of that goroutine.
type Resident interface {
	sender.Scheduler
	// Home is where its coroutines live. It is asked by the scheduler's work.
	Home() *Home
}

// Home is where the coroutines of a Resident scheduler live, at work and idle. The zero value is ready.
// The scheduler keeps it, and before its goroutine ends calls Drain, and if that takes too long Abandon.
//
// All methods are called on the scheduler's goroutine, as its work is.
type Home struct {
	// Wake, if not nil, is called on the scheduler's goroutine when a task has become ready there, and
	// none was before: the scheduler is to call Run soon, as work of its own. Without it, and when they
	// become ready on other threads, tasks go through the scheduler's Enqueue. Set it first of all.
	Wake func()

	ready    sender.WorkQueue // tasks to be resumed by Run
	tid      int
	idle     *coroutine // linked by succ
	idles    int
	live     *coroutine // linked both ways
	tasks    int        // live ones
	draining bool
	entered  bool // a coroutine is running; kept when debugging
	done     func()
}

// maxIdle is how many idle coroutines are kept. One has a stack of some KiB.
const maxIdle = 256

// Tasks is how many tasks have begun and not ended.
func (h *Home) Tasks() int { return h.tasks }

// Run gives those tasks their turn that were ready when it was called.
func (h *Home) Run() {
	batch := h.ready
	h.ready = sender.WorkQueue{}
	for w := batch.Pop(); w != nil; w = batch.Pop() {
		w.Runner.Run()
	}
}

// enqueue makes t ready.
func (h *Home) enqueue(t *T) {
	first := h.ready.Empty()
	h.ready.Push(&t.work)
	if first {
		h.Wake()
	}
}

// Drain ends the idle coroutines, lets no task begin any more, and asks for the end of what runs
// elsewhere by On. done is called, perhaps inside Drain, when no task is left. What else the tasks
// await on the scheduler is for the scheduler to stop.
func (h *Home) Drain(done func()) {
	h.draining, h.done = true, done
	for co := h.idle; co != nil; co = co.succ {
		co.stop()
	}
	h.idle, h.idles = nil, 0
	for co := h.live; co != nil; co = co.succ {
		co.link.requestStop()
	}
	h.settled()
}

// Abandon cuts short all tasks, as the package says. It is called after Drain, and not by a task.
func (h *Home) Abandon() {
	for co := h.live; co != nil; {
		t, succ := co.t, co.succ
		t.fate = cut
		if t.wait.drop() { // else its turn is coming
			t.drive()
		}
		co = succ
	}
}

// settled calls done if no task is left.
func (h *Home) settled() {
	if done := h.done; h.tasks == 0 && done != nil {
		h.done = nil
		done()
	}
}

// take is a coroutine to work with, or nil if no task is to begin.
func (h *Home) take() *coroutine {
	if h.draining {
		return nil
	}
	co := h.idle
	if co != nil {
		h.idle, h.idles = co.succ, h.idles-1
	} else {
		if h.tid == 0 {
			h.tid = syscall.Gettid()
		}
		co = &coroutine{home: h}
		co.pull()
	}
	co.succ, h.live = h.live, co
	if co.succ != nil {
		co.succ.prev = co
	}
	h.tasks++
	return co
}

// put takes back a coroutine whose function has returned.
func (h *Home) put(co *coroutine) {
	h.forget(co)
	switch {
	case co.exited:
		co.unwind()
	case h.draining || h.idles == maxIdle:
		co.stop()
	default:
		co.succ, h.idle = h.idle, co
		h.idles++
	}
	h.settled()
}

// forget takes a coroutine out of the live ones.
func (h *Home) forget(co *coroutine) {
	if co.prev != nil {
		co.prev.succ = co.succ
	} else {
		h.live = co.succ
	}
	if co.succ != nil {
		co.succ.prev = co.prev
	}
	co.prev, co.succ = nil, nil
	h.tasks--
}

// enter asserts what a Resident promises.
func (h *Home) enter() {
	if h.entered {
		panic("task: a turn inside of another")
	}
	if h.tid != syscall.Gettid() {
		panic("task: a turn on a thread that is not the scheduler's")
	}
	h.entered = true
}

func (h *Home) exit() { h.entered = false }
