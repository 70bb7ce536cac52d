package task

import (
	"unsafe"

	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
)

// CoroutineScheduler is a scheduler that hosts coroutines: tasks on it run as coroutines on the scheduler's own
// thread. Such a scheduler runs all its work on one goroutine that is locked to its thread, with the same number of
// locks each time, and never runs work inside other work.
type CoroutineScheduler interface {
	sender.Scheduler
	// Coroutines returns the pool of its coroutines. The scheduler's work calls it.
	Coroutines() *CoroutinePool
}

// CoroutinePool holds the coroutines of a [CoroutineScheduler], running and idle. The zero CoroutinePool is ready. The
// scheduler's goroutine calls Enter first and Leave last. Before Leave it calls Drain. If Drain takes too long, or the
// scheduler can no longer run work, it calls Abandon.
//
// All methods except Here are called on the scheduler's goroutine, from its work. Here may be called anywhere.
type CoroutinePool struct {
	// Wake, if not nil, is called on the scheduler's goroutine when a task has become ready there, and no other task
	// was ready: the scheduler is to call Run soon, as separate work. Tasks that become ready on other threads are
	// passed to the scheduler's Enqueue, and without Wake all tasks are. Set it before Enter.
	Wake func()

	goroutine uintptr // the scheduler's
	current   uintptr // the scheduler's goroutine, or the coroutine that runs
	thread    int
	driver    goroutine.Driver
	states    states           // that its tasks use
	ready     sender.WorkQueue // tasks to be resumed by Run
	idle      intrusive.List   // coroutines without a task
	idles     int              // length of idle
	busy      intrusive.List   // coroutines with a task
	tasks     int              // length of busy
	stranded  int              // coroutines whose function never ended
	draining  bool
	drained   func() // called when no task is left
}

// maxIdle is how many idle coroutines are kept. A coroutine has a stack of a few KiB.
const maxIdle = 256

// Enter makes the calling goroutine the scheduler's. It must be locked to its thread until Leave.
func (p *CoroutinePool) Enter() {
	p.goroutine, p.thread = goroutine.Current(), goroutine.Thread()
	p.current, p.driver = p.goroutine, goroutine.Drive(true)
}

// Leave undoes Enter.
func (p *CoroutinePool) Leave() {
	p.goroutine, p.current, p.thread = 0, 0, 0
	p.states = states{}
	p.driver.Release()
}

// Here reports whether it is called on the scheduler's goroutine, or by the function of a task that runs there. It
// takes one or two nanoseconds. It does not recognise a coroutine that a function has made itself, with iter.Pull.
//
// The word that it reads may be written meanwhile, but never to or from the caller's goroutine.
//
//go:norace
func (p *CoroutinePool) Here() bool { return goroutine.Current() == p.current }

// onThread reports whether it is called on the scheduler's thread. It is false on systems where threads have no ids.
func (p *CoroutinePool) onThread() bool { return p.thread != 0 && p.thread == goroutine.Thread() }

func (p *CoroutinePool) here() bool { return p.Here() || p.onThread() }

// Tasks returns how many tasks have begun and have not completed.
func (p *CoroutinePool) Tasks() int { return p.tasks }

// Stranded returns how many abandoned tasks have not ended: their deferred functions await in a loop that ignores
// [sender.ErrStopped]. They have completed, but their stacks are lost.
func (p *CoroutinePool) Stranded() int { return p.stranded }

// Run resumes the tasks that were ready when it was called.
func (p *CoroutinePool) Run() {
	batch := p.ready
	p.ready = sender.WorkQueue{}
	runAll(batch)
}

// runAll runs a batch. It continues if the receiver of a task ends this frame by runtime.Goexit.
func runAll(batch sender.WorkQueue) {
	returned := false
	defer aftergoexit.Run(&returned, func() { runAll(batch) })
	for w := batch.Pop(); w != nil; w = batch.Pop() {
		w.Runner.Run()
	}
	returned = true
}

// enqueue makes co's task ready.
func (p *CoroutinePool) enqueue(co *coroutine) {
	first := p.ready.Empty()
	p.ready.Push(&co.resumption)
	if first {
		p.Wake()
	}
}

// Drain lets no further task begin, ends the idle coroutines, and requests the operations to stop that tasks await
// elsewhere, except inside [Unstoppable]. It calls done when no task is left, possibly inside Drain. The scheduler
// itself has to stop the operations that tasks await on it.
func (p *CoroutinePool) Drain(done func()) {
	p.draining, p.drained = true, done
	for co := coroutineOf(p.idle.PopFront()); co != nil; co = coroutineOf(p.idle.PopFront()) {
		co.end()
	}
	p.idles = 0
	for l := p.busy.First(); l != nil; l = l.Next() {
		coroutineOf(l).requestStop()
	}
	p.checkDrained()
}

// Abandon unwinds all tasks, as "The end of a scheduler" in the documentation of the package says. When it has returned
// no task is left. It is called after Drain, and not by a task. The error is an [*AbandonedError]; nil if there was no
// task.
//
// A task that is ready to be resumed is unwound too. When it is resumed later, that does nothing.
func (p *CoroutinePool) Abandon() error {
	var e AbandonedError
	for !p.busy.Empty() {
		co := coroutineOf(p.busy.First())
		e.Add(co.waiting())
		co.t.abandon(sender.ErrStopped)
	}
	if e.Tasks == 0 {
		return nil
	}
	return &e
}

// checkDrained calls Drain's done if no task is left.
func (p *CoroutinePool) checkDrained() {
	if done := p.drained; p.tasks == 0 && done != nil {
		p.drained = nil
		done()
	}
}

// take returns a coroutine for a task; nil if no task may begin.
func (p *CoroutinePool) take() *coroutine {
	if p.draining {
		return nil
	}
	co := coroutineOf(p.idle.PopFront())
	if co != nil {
		p.idles--
	} else {
		if p.goroutine == 0 {
			panic("task: a task on a CoroutineScheduler that has not called CoroutinePool.Enter")
		}
		co = &coroutine{pool: p, states: &p.states}
		co.pull()
	}
	p.busy.PushFront(&co.links)
	p.tasks++
	return co
}

// put takes back a coroutine whose function has returned. Unless it is clean, what the function awaited, or a
// resumption, still refers to it.
func (p *CoroutinePool) put(co *coroutine, clean bool) {
	p.busy.Remove(&co.links)
	p.tasks--
	switch {
	case co.stranded:
		p.stranded++
	case co.exited || !clean || p.draining || p.idles == maxIdle:
		co.end()
	default:
		p.idle.PushFront(&co.links)
		p.idles++
	}
	p.checkDrained()
}

// coroutineOf returns the coroutine with these links; nil if l is nil.
func coroutineOf(l *intrusive.Links) *coroutine {
	return intrusive.Owner[coroutine](l, unsafe.Offsetof(coroutine{}.links))
}

// assertIdle asserts what a CoroutineScheduler guarantees.
func (p *CoroutinePool) assertIdle() {
	if p.current != p.goroutine {
		panic("task: a task is resumed inside another: a CoroutineScheduler must not run work inside other work")
	}
	if !p.Here() {
		panic("task: a task is resumed on a goroutine that is not the scheduler's")
	}
}
