package task

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// CoroutineScheduler is a scheduler that coroutines can live on: it runs all its work on one goroutine that is
// locked to its thread, under the same number of locks each time, and none of it inside another. Tasks
// on it are coroutines of that goroutine.
type CoroutineScheduler interface {
	sender.Scheduler
	// Coroutines is where its coroutines live. It is asked by the scheduler's work.
	Coroutines() *CoroutinePool
}

// CoroutinePool is where the coroutines of a Resident scheduler live, at work and idle. The zero value is ready.
// The scheduler's goroutine calls Enter first of all and Leave last. Before Leave it calls Drain, and if that takes
// too long, or it takes no work any more, Abandon.
//
// All methods are called on the scheduler's goroutine, as its work is; Here is called anywhere.
type CoroutinePool struct {
	// Wake, if not nil, is called on the scheduler's goroutine when a task has become ready there, and
	// none was before: the scheduler is to call Run soon, as work of its own. Without it, and when they
	// become ready on other threads, tasks go through the scheduler's Enqueue. Set it first of all.
	Wake func()

	goroutine uintptr // the scheduler's
	on        uintptr // that, or the coroutine that runs
	thread    int
	driver    goroutine.Driver
	ready     sender.WorkQueue // tasks to be resumed by Run
	idle      *coroutine       // linked by succ
	idles     int
	live      *coroutine // linked both ways
	tasks     int        // live ones
	draining  bool
	done      func()
}

// Enter makes the calling goroutine, which is locked to its thread until Leave, the scheduler's.
func (h *CoroutinePool) Enter() {
	h.goroutine, h.thread = goroutine.Current(), goroutine.Thread()
	h.on, h.driver = h.goroutine, goroutine.Drive(true)
}

// Leave ends what Enter began.
func (h *CoroutinePool) Leave() {
	h.goroutine, h.on, h.thread = 0, 0, 0
	h.driver.Release()
}

// Here tells whether it is called on the scheduler's goroutine or by the function of a task that runs there. It takes a
// nanosecond or two. A coroutine that a function has made for itself, as iter.Pull does, is not known here.
func (h *CoroutinePool) Here() bool { return goroutine.Current() == h.on }

// onThread tells whether it is called on the scheduler's thread, and false where nobody tells threads apart.
func (h *CoroutinePool) onThread() bool { return h.thread != 0 && h.thread == goroutine.Thread() }

func (h *CoroutinePool) here() bool { return h.Here() || h.onThread() }

// maxIdle is how many idle coroutines are kept. One has a stack of some KiB.
const maxIdle = 256

// Tasks is how many tasks have begun and not ended.
func (h *CoroutinePool) Tasks() int { return h.tasks }

// Run gives those tasks their turn that were ready when it was called.
func (h *CoroutinePool) Run() {
	batch := h.ready
	h.ready = sender.WorkQueue{}
	runAll(batch)
}

// runAll runs a batch, also if the receiver of a task ends this frame by runtime.Goexit.
func runAll(batch sender.WorkQueue) {
	returned := false
	defer aftergoexit.Run(&returned, func() { runAll(batch) })
	for w := batch.Pop(); w != nil; w = batch.Pop() {
		w.Runner.Run()
	}
	returned = true
}

// enqueue makes co's task ready.
func (h *CoroutinePool) enqueue(co *coroutine) {
	first := h.ready.Empty()
	h.ready.Push(&co.work)
	if first {
		h.Wake()
	}
}

// Drain ends the idle coroutines, lets no task begin any more, and asks for the end of what the tasks
// await elsewhere, but in Unstoppable. done is called, perhaps inside Drain, when no task is left. What
// the tasks await on the scheduler is for the scheduler to stop.
func (h *CoroutinePool) Drain(done func()) {
	h.draining, h.done = true, done
	for co := h.idle; co != nil; co = co.succ {
		co.stop()
	}
	h.idle, h.idles = nil, 0
	for co := h.live; co != nil; co = co.succ {
		co.requestStop()
	}
	h.settled()
}

// Abandon cuts short all tasks, as the package says: none is left. It is called after Drain, and not by a task.
//
// A task whose turn is due or under way is not waited for: it goes on here and now, and the turn finds nothing to do,
// whenever it comes.
func (h *CoroutinePool) Abandon() {
	for h.live != nil {
		h.live.t.cut(sender.ErrStopped)
	}
}

// settled calls done if no task is left.
func (h *CoroutinePool) settled() {
	if done := h.done; h.tasks == 0 && done != nil {
		h.done = nil
		done()
	}
}

// take is a coroutine to work with, or nil if no task is to begin.
func (h *CoroutinePool) take() *coroutine {
	if h.draining {
		return nil
	}
	co := h.idle
	if co != nil {
		h.idle, h.idles = co.succ, h.idles-1
	} else {
		if h.goroutine == 0 {
			panic("task: a task on a Resident scheduler that has not called Home.Enter")
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
func (h *CoroutinePool) put(co *coroutine) {
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
func (h *CoroutinePool) forget(co *coroutine) {
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

// assertIdle asserts what a Resident promises.
func (h *CoroutinePool) assertIdle() {
	if h.on != h.goroutine {
		panic("task: a turn inside of another")
	}
	if !h.Here() {
		panic("task: a turn on a goroutine that is not the scheduler's")
	}
}
