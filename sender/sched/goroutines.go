package sched

import (
	"sync"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Goroutines is the [sender.TimedScheduler] of Go itself: one goroutine for each unit of work, and one timer of the
// runtime for each deadline. It needs no setup and never ends, so it abandons only work that is stopped. All values
// are equal. It is for ordinary programs. Programs that must not allocate use a loop.
//
// Allocation: Enqueue allocates a goroutine, EnqueueAt a timer, and a goroutine when that is due.
//
// Source: P1525R1 §4 (schedulers). [NewThread] is the same with threads of the operating system.
type Goroutines struct{}

// Enqueue runs w on a new goroutine.
func (Goroutines) Enqueue(w *sender.Work) { go run(w.Runner) }

func run(r sender.Runner) { r.Run() }

// Clock returns the time in nanoseconds since the process began. It may be called from any thread.
func (Goroutines) Clock() int64 { return monotonic() }

// EnqueueAt implements [sender.TimedScheduler]: it runs w on a new goroutine.
func (Goroutines) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	t := &runtimeTimer{w: w}
	t.onStop.Register(token, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.completed {
		t.timer = time.AfterFunc(until(deadline, monotonic()), t.expire)
	}
}

// runtimeTimer is timed work in flight, and the handler of its stop callback. It is not part of the TimedWork: when
// expiry and stop request meet, the later one still reads it, and the TimedWork may have been reused by then.
type runtimeTimer struct {
	w         *sender.TimedWork
	onStop    stop.Callback
	mu        sync.Mutex
	timer     *time.Timer // nil: the work was completed before it was set
	completed bool
}

// OnStop abandons the work on another goroutine, because work is not abandoned inside a stop request.
func (t *runtimeTimer) OnStop() { go t.cancel() }

func (t *runtimeTimer) expire() {
	if t.complete() {
		t.w.Runner.Run()
	}
}

func (t *runtimeTimer) cancel() {
	if t.complete() {
		t.w.Runner.Abandon(sender.ErrStopped)
	}
}

// complete reports whether the caller is the first, which is to call the Runner. It deregisters the callback.
func (t *runtimeTimer) complete() bool {
	t.mu.Lock()
	completed := t.completed
	t.completed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	if !completed {
		t.onStop.Deregister()
	}
	return !completed
}
