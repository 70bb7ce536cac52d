package sched

import (
	"sync"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// TimedRunLoop is a [sender.TimedScheduler] that is driven by the thread that calls Run. It has a mutex, a queue of
// submitted work, and an indexed heap of timers. A timer is cancelled by a second operation: see
// [sender.TimerDriver]. The zero TimedRunLoop is ready. It must not be copied.
//
// Work runs in the order in which it was submitted. Timers run in the order of their deadlines and, if these are
// equal, of their submission. One iteration of the loop runs the work that was submitted before the iteration began,
// and then the timers that are due, so neither starves the other.
//
// Allocation: nothing but the timer heap, when it grows.
//
// Source: the timed_run_loop of the article on sender factories.
type TimedRunLoop struct {
	mu        sync.Mutex
	submitted sender.WorkQueue
	begun     bool // Run was called
	sleeping  bool // the driving thread waits for wake, and no thread has sent to it yet
	stopping  bool // stop was requested through Run's token
	closed    bool // Run has returned, or is about to

	// Fields of the driving thread.
	batch  sender.WorkQueue // work of the current iteration
	timers timerqueue.Queue
	now    int64 // ns, at the begin of the iteration
	wake   chan struct{}
	alarm  *time.Timer
}

// Clock returns the time in nanoseconds since the process began. It may be called from any thread.
func (l *TimedRunLoop) Clock() int64 { return monotonic() }

// Enqueue implements [sender.Scheduler]. Work that comes after Run has returned is refused immediately, with
// [sender.ErrClosed].
func (l *TimedRunLoop) Enqueue(w *sender.Work) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		w.Runner.Abandon(sender.ErrClosed)
		return
	}
	l.submitted.Push(w)
	l.unlockAndWake()
}

// EnqueueAt implements [sender.TimedScheduler].
func (l *TimedRunLoop) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	w.Submit((*timerDriver)(l), deadline, token)
}

// unlockAndWake releases mu after something has been submitted, and wakes the driving thread if it sleeps.
func (l *TimedRunLoop) unlockAndWake() {
	wake := l.sleeping
	l.sleeping = false
	l.mu.Unlock()
	if wake {
		select {
		case l.wake <- struct{}{}:
		default: // it was woken before, and has not received it yet
		}
	}
}

// Run drives the loop on the calling goroutine until stop is requested through token. Then timers that are not due
// are abandoned, submitted work still runs, and Run returns when nothing is left. Work that comes later is refused.
// Run may be called once. If work ends the goroutine by runtime.Goexit, the loop continues as [sender.RunLoop.Run]
// does.
func (l *TimedRunLoop) Run(token stop.Token) {
	l.mu.Lock()
	begun := l.begun
	l.begun = true
	l.mu.Unlock()
	if begun {
		panic("sched: second Run of a TimedRunLoop: make a new one")
	}
	defer goroutine.Drive(false).Release()
	l.wake = make(chan struct{}, 1)
	l.alarm = time.NewTimer(0)
	var onStop stop.Callback
	onStop.Register(token, (*loopStop)(l))
	defer func() {
		onStop.Deregister()
		l.alarm.Stop()
	}()
	l.drive()
}

// loopStop is the handler of Run's stop callback.
type loopStop TimedRunLoop

func (s *loopStop) OnStop() {
	l := (*TimedRunLoop)(s)
	l.mu.Lock()
	l.stopping = true
	l.unlockAndWake()
}

// drive iterates until the loop is stopped and empty. If work ends its frame by runtime.Goexit, it continues with the
// rest of the batch.
func (l *TimedRunLoop) drive() {
	returned := false
	defer aftergoexit.Run(&returned, l.drive)
	l.runBatch()
	for more := true; more; more = l.wait() {
		l.now = monotonic()
		l.runSubmitted()
		l.expire()
	}
	returned = true
}

// runSubmitted runs the work that has been submitted before it is called.
func (l *TimedRunLoop) runSubmitted() {
	l.mu.Lock()
	l.batch, l.submitted = l.submitted, sender.WorkQueue{}
	l.mu.Unlock()
	l.runBatch()
}

func (l *TimedRunLoop) runBatch() {
	for w := l.batch.Pop(); w != nil; w = l.batch.Pop() {
		w.Runner.Run()
	}
}

// expire ends the timers that are due.
func (l *TimedRunLoop) expire() {
	for t := l.timers.Pop(l.now); t != nil; t = l.timers.Pop(l.now) {
		t.Handler.OnTimer(l.now)
	}
}

// wait sleeps until there is something to do. It returns false when the loop is stopped and empty.
func (l *TimedRunLoop) wait() bool {
	l.mu.Lock()
	switch deadline, armed := l.timers.Min(); {
	case !l.submitted.Empty():
		l.mu.Unlock()
	case l.stopping && armed:
		l.mu.Unlock()
		l.abandonTimers()
	case l.stopping:
		l.closed = true
		l.mu.Unlock()
		return false
	default:
		l.sleeping = true
		l.mu.Unlock()
		l.sleep(deadline, armed)
		l.mu.Lock()
		l.sleeping = false
		l.mu.Unlock()
	}
	return true
}

// sleep returns when the loop is woken or, if a timer is armed, at the deadline. It may also return too early.
func (l *TimedRunLoop) sleep(deadline int64, armed bool) {
	if !armed {
		<-l.wake
		return
	}
	l.alarm.Reset(until(deadline, monotonic()))
	select {
	case <-l.wake:
	case <-l.alarm.C:
	}
}

// abandonTimers ends all timers although they are not due.
func (l *TimedRunLoop) abandonTimers() {
	for deadline, ok := l.timers.Min(); ok; deadline, ok = l.timers.Min() {
		l.timers.Pop(deadline).Handler.OnTimer(l.now)
	}
}

// timerDriver is a TimedRunLoop as a [sender.TimerDriver].
type timerDriver TimedRunLoop

func (d *timerDriver) Enqueue(w *sender.Work) { (*TimedRunLoop)(d).Enqueue(w) }

func (d *timerDriver) Arm(w *sender.TimedWork) {
	if w.Deadline() <= d.now {
		w.Settle(true)
		return
	}
	w.Timer().Init((*armedWork)(w))
	d.timers.Push(w.Timer(), w.Deadline())
}

func (d *timerDriver) Disarm(w *sender.TimedWork) bool { return d.timers.Remove(w.Timer()) }

// armedWork is timed work as the handler of its timer.
type armedWork sender.TimedWork

func (a *armedWork) OnTimer(now int64) {
	w := (*sender.TimedWork)(a)
	w.Settle(w.Deadline() <= now)
}
