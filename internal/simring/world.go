package simring

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// world is the state that the machines of a simulation share: time, chance, threads and errors. Its methods are
// promoted to [Kernel].
type world struct {
	rng      *rand.Rand
	now      int64
	booted   int64 // now, when the run began
	events   events
	machines []*Kernel
	threads  []*Thread
	current  *Thread
	errs     []error
	underWay int // bytes, ends, completions: events that come by themselves in a moment
	spare    int // faults are off while it is not 0
	trace    io.Writer
	queues   queueMemory
	bounds   Bounds
	turns    atomic.Uint64 // of threads
	running  atomic.Pointer[Thread]
}

// Bounds are how long a run may be: a run that is longer is wrong.
type Bounds struct {
	Turns int           // of threads; 0: a million
	Time  time.Duration // simulated; 0: any
}

// SetBounds bounds the run.
func (w *world) SetBounds(b Bounds) { w.bounds = b }

// Rand returns the random source of the run. Programs draw from it as well.
func (w *world) Rand() *rand.Rand { return w.rng }

// Now returns the time on the clock of the machines, in nanoseconds. Runs do not begin at 0: see [New].
func (w *world) Now() int64 { return w.now }

// Elapsed returns the time since the run began.
func (w *world) Elapsed() time.Duration { return time.Duration(w.now - w.booted) }

// Progress returns how many turns threads have taken, and the thread whose turn it is or was. From any goroutine.
func (w *world) Progress() (turns uint64, running *Thread) { return w.turns.Load(), w.running.Load() }

// Errorf records that something is wrong. The run then ends. What a thread says that has lost its power does not count:
// its deferred functions run when the run has ended.
func (w *world) Errorf(format string, args ...any) {
	if w.current != nil && w.current.lost {
		return
	}
	err := fmt.Errorf(format, args...)
	w.log("WRONG: %v", err)
	w.errs = append(w.errs, err)
}

// Logf writes to the trace.
func (w *world) Logf(format string, args ...any) { w.log(format, args...) }

// Spared calls f, which must not wait, without faults.
func (w *world) Spared(f func()) {
	w.spare++
	defer func() { w.spare-- }()
	f()
}

func (w *world) chance(p float64) bool { return p > 0 && w.spare == 0 && w.rng.Float64() < p }

// upTo draws a random duration of 1 to d.
func (w *world) upTo(d time.Duration) time.Duration {
	return 1 + time.Duration(w.rng.Int64N(int64(d)))
}

func (w *world) log(format string, args ...any) {
	if w.trace == nil {
		return
	}
	thread := "kernel"
	if w.current != nil {
		thread = w.current.fullName()
	}
	fmt.Fprintf(w.trace, "%12.6fms %-10s %s\n", float64(w.Elapsed())/1e6, thread, fmt.Sprintf(format, args...))
}

// at calls f at a time.
func (w *world) at(at int64, f func()) { w.events.push(at, f) }

// coming calls f at a time, and counts it as under way until then.
func (w *world) coming(at int64, f func()) {
	w.underWay++
	w.at(at, func() {
		w.underWay--
		f()
	})
}

// happen calls what is due.
func (w *world) happen() {
	for len(w.events.heap) != 0 && w.events.heap[0].at <= w.now {
		w.events.pop()()
	}
}

// finishAll asserts that nothing is left on any machine, and returns all that was wrong.
func (w *world) finishAll() error {
	for _, k := range w.machines {
		k.finish()
	}
	return errors.Join(w.errs...)
}
