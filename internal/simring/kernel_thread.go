package simring

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
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
	ready    func() bool   // it waits for this; nil: for its turn
	deadline int64         // when it stops waiting; never: not at all
	doing    string        // what it waits in, for errors
	explain  func() string // says more than doing, or nil
	stopped  bool
	lost     bool // its machine has lost its power, or its process was killed
	victim   *Victim
	ended    bool
}

const never = 1<<63 - 1

// killed is the panic that unwinds the threads of a run that has failed.
type killed struct{}

// Go makes a thread that runs f. If f calls runtime.Goexit, as a test that fails does, so does Run.
func (k *Kernel) Go(name string, f func(t *Thread)) *Thread { return k.start(name, false, f) }

// GoExitable makes a thread that runs f. If f calls runtime.Goexit, the thread ends.
func (k *Kernel) GoExitable(name string, f func(t *Thread)) *Thread { return k.start(name, true, f) }

func (k *Kernel) start(name string, exitable bool, f func(t *Thread)) *Thread {
	t := &Thread{k: k, id: len(k.threads) + 1, name: name, deadline: never}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		returned := false
		defer func() {
			if p := recover(); p != nil && p != any(killed{}) {
				k.Errorf("%s panicked: %v\n%s", t.fullName(), p, debug.Stack())
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
	return t
}

// exited is the panic that a Goexit of a thread is turned into.
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

// wait lets other threads run until ready reports true (immediately if it is nil) or the deadline is reached.
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

// Yield lets other threads run, sometimes.
func (t *Thread) Yield() { t.k.preempt() }

// Kill ends the thread, which is the one that runs, and runs its deferred functions.
func (t *Thread) Kill() { panic(killed{}) }

// Sleep waits for d.
func (t *Thread) Sleep(d time.Duration) { t.wait(notReady, t.k.now+int64(d)) }

func notReady() bool { return false }

// Until waits until what reports true.
func (t *Thread) Until(what func() bool) { t.wait(what, never) }

// Running returns the thread that runs now, or nil.
func (k *Kernel) Running() *Thread { return k.current }

// UntilOr waits until what reports true, or for that time; a negative one is forever. It returns what that reports in
// the end. doing says in errors what the thread does.
func (t *Thread) UntilOr(what func() bool, atMost time.Duration, doing string) bool {
	deadline := int64(never)
	if atMost >= 0 {
		deadline = t.k.now + min(int64(atMost), never-1-t.k.now)
	}
	t.doing = doing
	t.wait(what, deadline)
	return what()
}

// Explain adds to errors what explain returns, which is called as if by the thread, while it waits.
func (t *Thread) Explain(explain func() string) { t.explain = explain }

func (t *Thread) inWhat() string {
	text := ""
	if t.doing != "" {
		text = " in " + t.doing
	}
	if t.explain != nil {
		current := t.k.current
		t.k.current = t
		text += t.explain()
		t.k.current = current
	}
	return text
}

// Machine returns the machine that the thread runs on.
func (t *Thread) Machine() *Kernel { return t.k }

// Ended reports whether the thread has ended.
func (t *Thread) Ended() bool { return t.ended }

// fullName returns the thread's name, with its machine's, if there are several.
func (t *Thread) fullName() string {
	if len(t.k.machines) < 2 {
		return t.name
	}
	return t.k.name + "/" + t.name
}

// Stop stops the thread, as SIGSTOP does, while time passes. It is called by another thread.
func (t *Thread) Stop() { t.stopped = true }

// Continue lets a stopped thread run again.
func (t *Thread) Continue() { t.stopped = false }

func (t *Thread) canRun() bool {
	return !t.over() && !t.stopped && (t.ready == nil || t.deadline <= t.k.now || t.ready())
}

// over reports whether the thread never runs again.
func (t *Thread) over() bool { return t.ended || t.lost }

// maxTurns bounds the turns of a run.
const maxTurns = 1 << 20

// Run runs the threads until all have ended, and returns all that was wrong.
func (w *world) Run() error {
	defer w.unwind()
	for _, k := range w.machines {
		k.log("odds%s: %v", k.onMachine(), k.Odds)
	}
	var able []*Thread
	for !w.tooLong() {
		w.current = nil
		w.happen()
		able = able[:0]
		for _, t := range w.threads {
			if t.canRun() {
				able = append(able, t)
			}
		}
		if len(w.errs) != 0 || len(able) == 0 && (w.allEnded() || !w.pass()) {
			return w.end()
		}
		if len(able) == 0 {
			continue
		}
		t := able[w.rng.IntN(len(able))]
		w.current, t.deadline, t.doing = t, never, ""
		w.running.Store(t)
		w.turns.Add(1)
		if !t.resume() {
			t.ended = true
		}
		w.now += 1 + w.rng.Int64N(2000)
	}
	return w.end()
}

func (w *world) allEnded() bool {
	return !slices.ContainsFunc(w.threads, func(t *Thread) bool { return !t.over() })
}

// tooLong reports whether the run is longer than it may be, which is wrong.
func (w *world) tooLong() bool {
	turns := uint64(maxTurns)
	if w.bounds.Turns > 0 {
		turns = uint64(w.bounds.Turns)
	}
	switch {
	case w.turns.Load() >= turns:
		w.current = nil
		w.Errorf("simring: the run does not end: it has taken %d turns%s", turns, w.left())
	case w.bounds.Time > 0 && w.Elapsed() > w.bounds.Time:
		w.current = nil
		w.Errorf("simring: the run does not end: it has taken %v%s", w.bounds.Time, w.left())
	default:
		return false
	}
	return true
}

// left describes the threads that have not ended, and what they wait for.
func (w *world) left() string {
	b := new(strings.Builder)
	for _, t := range w.threads {
		if !t.over() {
			fmt.Fprintf(b, "; %s has not ended%s", t.fullName(), t.inWhat())
		}
	}
	return b.String()
}

// pass advances the clock to the next event or deadline. It reports false if nothing is due.
func (w *world) pass() bool {
	next := int64(never)
	if len(w.events.heap) != 0 {
		next = w.events.heap[0].at
	}
	for _, t := range w.threads {
		if !t.over() && !t.stopped {
			next = min(next, t.deadline)
		}
	}
	if next == never {
		return false
	}
	w.now = max(w.now, next)
	return true
}

// end asserts that all threads have ended.
func (w *world) end() error {
	if len(w.errs) == 0 {
		for _, t := range w.threads {
			if !t.over() {
				w.Errorf("simring: %s waits for ever%s", t.fullName(), t.inWhat())
			}
		}
	}
	return errors.Join(w.errs...)
}

// unwind ends the threads that have not ended.
func (w *world) unwind() {
	for _, t := range w.threads {
		w.current = t
		t.end()
	}
	w.current = nil
}

// String returns the thread's name and id.
func (t *Thread) String() string { return fmt.Sprintf("%s (thread %d)", t.name, t.id) }
