package simring

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// Thread is a coroutine of the goroutine that runs the kernel.
type Thread struct {
	k        *Kernel
	id       int
	name     string
	next     func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	ready    func() bool // it waits for this; nil: for its turn
	deadline int64       // when it stops waiting; never: not at all
	stopped  bool
	ended    bool
}

const never = 1<<63 - 1

// killed is the panic that unwinds the threads of a run that has failed.
type killed struct{}

// Go makes a thread that runs f. If f calls runtime.Goexit, as a test that fails does, so does Run.
func (k *Kernel) Go(name string, f func(t *Thread)) { k.start(name, false, f) }

// GoExitable makes a thread that runs f. If f calls runtime.Goexit, the thread ends.
func (k *Kernel) GoExitable(name string, f func(t *Thread)) { k.start(name, true, f) }

func (k *Kernel) start(name string, exitable bool, f func(t *Thread)) {
	t := &Thread{k: k, id: len(k.threads) + 1, name: name, deadline: never}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		returned := false
		defer func() {
			if p := recover(); p != nil && p != any(killed{}) {
				k.Errorf("%s panicked: %v\n%s", name, p, debug.Stack())
			}
			if exitable && !returned {
				panic(exited{}) // or iter.Pull would pass the Goexit on
			}
		}()
		t.yield = yield
		f(t)
		returned = true
	})
	k.threads = append(k.threads, t)
}

// exited is what a Goexit of a thread is turned into.
type exited struct{}

// resume lets the thread run until it waits. False: it has ended.
func (t *Thread) resume() (more bool) {
	defer recoverExited()
	_, more = t.next()
	return more
}

// end unwinds the thread.
func (t *Thread) end() {
	defer recoverExited()
	t.stop()
}

func recoverExited() {
	if p := recover(); p != nil && p != any(exited{}) {
		panic(p)
	}
}

// wait lets other threads run until ready reports true (nil: immediately) or the deadline is reached.
func (t *Thread) wait(ready func() bool, deadline int64) {
	t.ready, t.deadline = ready, deadline
	if !t.yield(struct{}{}) {
		panic(killed{})
	}
}

// preempt lets other threads run at a system call. Write does not call it: a reactor.Event writes with a lock held,
// and another thread that waits for a real lock would block the whole simulation.
func (k *Kernel) preempt() {
	if k.current != nil && k.chance(k.Odds.Preemption) {
		k.current.wait(nil, never)
	}
}

// Sleep waits for d.
func (t *Thread) Sleep(d time.Duration) { t.wait(notReady, t.k.now+int64(d)) }

func notReady() bool { return false }

// Until waits until what reports true.
func (t *Thread) Until(what func() bool) { t.wait(what, never) }

// Running is the thread that runs now; nil: none does.
func (k *Kernel) Running() *Thread { return k.current }

// Stop stops the thread, as SIGSTOP does, while time passes. It is called by another thread.
func (t *Thread) Stop() { t.stopped = true }

// Continue lets a stopped thread run again.
func (t *Thread) Continue() { t.stopped = false }

func (t *Thread) canRun() bool {
	return !t.ended && !t.stopped && (t.ready == nil || t.deadline <= t.k.now || t.ready())
}

// maxSteps bounds the turns of a run.
const maxSteps = 1 << 20

// Run runs the threads until all have ended, and returns all that was wrong.
func (k *Kernel) Run() error {
	defer k.unwind()
	var able []*Thread
	for range maxSteps {
		k.current = nil
		k.happen()
		able = able[:0]
		for _, t := range k.threads {
			if t.canRun() {
				able = append(able, t)
			}
		}
		if len(k.errs) != 0 || len(able) == 0 && !k.pass() {
			return k.end()
		}
		if len(able) == 0 {
			continue
		}
		t := able[k.rng.IntN(len(able))]
		k.current, t.deadline = t, never
		if !t.resume() {
			t.ended = true
		}
		k.now += 1 + k.rng.Int64N(2000)
	}
	k.Errorf("simring: the run does not end: it has taken %d turns", maxSteps)
	return k.end()
}

// pass advances the clock to the next event or deadline. False: there is none.
func (k *Kernel) pass() bool {
	next := int64(never)
	if k.events.Len() != 0 {
		next = k.events.heap[0].at
	}
	for _, t := range k.threads {
		if !t.ended && !t.stopped {
			next = min(next, t.deadline)
		}
	}
	if next == never {
		return false
	}
	k.now = max(k.now, next)
	return true
}

// end asserts that all threads have ended.
func (k *Kernel) end() error {
	for _, t := range k.threads {
		if !t.ended && len(k.errs) == 0 {
			k.Errorf("simring: %s waits for ever", t.name)
		}
	}
	return errors.Join(k.errs...)
}

// unwind ends the threads that have not ended.
func (k *Kernel) unwind() {
	for _, t := range k.threads {
		k.current = t
		t.end()
	}
	k.current = nil
}

// String is the thread's name.
func (t *Thread) String() string { return fmt.Sprintf("%s (thread %d)", t.name, t.id) }
