package sched

import (
	"sync"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Goroutines is the TimedScheduler of Go itself: a goroutine for each piece of work, and a timer of the
// runtime for each deadline. It needs no setting up and no end, so it abandons nothing but what is
// stopped, and all of them are equal. It is for ordinary programs; what must not allocate has a loop.
//
// Enqueue allocates a goroutine, EnqueueAt a timer, and the goroutine when that is due.
//
// Source: P1525R1 §4 (schedulers); NewThread is the same with threads of the operating system.
type Goroutines struct{}

// Enqueue runs w on a new goroutine.
func (Goroutines) Enqueue(w *sender.Work) { go run(w.Runner) }

func run(r sender.Runner) { r.Run() }

// Clock is the time in nanoseconds since the process began. From any thread.
func (Goroutines) Clock() int64 { return monotonic() }

// EnqueueAt implements sender.TimedScheduler: w's turn is on a new goroutine.
func (Goroutines) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	t := &timer{w: w}
	w.Stop.Register(token, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.timer = time.AfterFunc(until(deadline, monotonic()), t.expire)
	}
}

// timer is timed work in flight, and the handler of its stop callback. It is not part of the work, which
// may be somebody else's when the later of expiry and stop request still looks at it.
type timer struct {
	w     *sender.TimedWork
	mu    sync.Mutex
	timer *time.Timer // nil: it ended before it was set
	ended bool
}

// OnStop leaves the rest to a goroutine: work is not abandoned inside a stop request.
func (t *timer) OnStop() { go t.cancel() }

func (t *timer) expire() {
	if t.end() {
		t.w.Runner.Run()
	}
}

func (t *timer) cancel() {
	if t.end() {
		t.w.Runner.Abandon(sender.ErrStopped)
	}
}

// end reports whether the caller is the one to end the work, and has nobody else look at it any more.
func (t *timer) end() bool {
	t.mu.Lock()
	ended := t.ended
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	if !ended {
		t.w.Stop.Deregister()
	}
	return !ended
}
