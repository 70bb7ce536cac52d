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

// timedLoop is what TimedRunLoop and CommandRunLoop have in common: all but how a timer is cancelled.
//
// Other threads lock mu, append to what is submitted, and wake the driving thread if it sleeps. That
// takes all of it at once and works it off without the lock, because completions submit and request
// stops. The timers are the driving thread's alone.
type timedLoop struct {
	mu        sync.Mutex
	submitted sender.WorkQueue
	commands  []*sender.TimedWork // see CommandRunLoop
	begun     bool                // Run was called
	sleeping  bool                // the driving thread is waiting for wake, and nobody has sent to it
	stopping  bool                // Run's token has been stopped
	closed    bool                // Run has returned, or is about to

	// Of the driving thread.
	batch   sender.WorkQueue // what was submitted before this turn
	timers  timerqueue.Queue
	now     int64 // ns, as of this turn
	onStop  stop.Callback
	obeying []*sender.TimedWork // the commands of this turn
	wake    chan struct{}       // of capacity 1
	alarm   *time.Timer
}

// Clock is the time in nanoseconds since the process began. From any thread.
func (l *timedLoop) Clock() int64 { return monotonic() }

// Enqueue implements sender.Scheduler. Work that comes after Run has returned is refused at once, with
// sender.ErrClosed.
func (l *timedLoop) Enqueue(w *sender.Work) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		w.Runner.Abandon(sender.ErrClosed)
		return
	}
	l.submitted.Push(w)
	l.unlockAndWake()
}

// unlockAndWake is called with mu held, by whoever has left something for the driving thread.
func (l *timedLoop) unlockAndWake() {
	wake := l.sleeping
	l.sleeping = false
	l.mu.Unlock()
	if wake {
		select {
		case l.wake <- struct{}{}:
		default: // it was woken before and has not looked yet
		}
	}
}

// OnStop is Run's stop callback.
func (l *timedLoop) OnStop() {
	l.mu.Lock()
	l.stopping = true
	l.unlockAndWake()
}

// Run drives the loop on the calling goroutine until stop is requested through token. Then timers that
// are not due are abandoned, what has been or is being enqueued is still run, and Run returns when
// nothing is left; work that comes later is refused. It may be called once. What work does that ends the
// goroutine by runtime.Goexit is as in sender.RunLoop.
func (l *timedLoop) Run(token stop.Token) {
	l.mu.Lock()
	begun := l.begun
	l.begun = true
	l.mu.Unlock()
	if begun {
		panic("sched: Run of a loop that runs or has run")
	}
	defer goroutine.Drive(false).Release()
	l.wake = make(chan struct{}, 1)
	l.alarm = time.NewTimer(0)
	l.onStop.Register(token, l)
	defer func() {
		l.onStop.Deregister()
		l.alarm.Stop()
	}()
	l.drive()
}

// drive is Run's loop. If work ends its frame by runtime.Goexit it goes on where that turn was.
func (l *timedLoop) drive() {
	returned := false
	defer aftergoexit.Run(&returned, l.drive)
	l.runBatch()
	l.cancelObeyed()
	for more := true; more; more = l.wait() {
		l.now = monotonic()
		l.runSubmitted()
		l.obey()
		l.expire()
	}
	returned = true
}

// runSubmitted runs what was there when it began.
func (l *timedLoop) runSubmitted() {
	l.mu.Lock()
	l.batch, l.submitted = l.submitted, sender.WorkQueue{}
	l.mu.Unlock()
	l.runBatch()
}

func (l *timedLoop) runBatch() {
	for w := l.batch.Pop(); w != nil; w = l.batch.Pop() {
		w.Runner.Run()
	}
}

// expire ends the timers that are due.
func (l *timedLoop) expire() {
	for t := l.timers.Pop(l.now); t != nil; t = l.timers.Pop(l.now) {
		t.Handler.OnTimer(l.now)
	}
}

// arm puts w among the timers, of which h is told when w is due or the loop ends; at once, if it is or
// does.
func (l *timedLoop) arm(w *sender.TimedWork, h timerqueue.Handler) {
	w.Timer.Init(h)
	if w.Deadline <= l.now {
		h.OnTimer(l.now)
		return
	}
	l.timers.Push(&w.Timer, w.Deadline)
}

// wait sleeps until there is something to do, and returns false once the loop is stopped and empty.
func (l *timedLoop) wait() bool {
	l.mu.Lock()
	switch deadline, armed := l.timers.Min(); {
	case !l.submitted.Empty() || len(l.commands) != 0:
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

// sleep returns when the loop is woken or, if armed, at the deadline. It may also return for nothing.
func (l *timedLoop) sleep(deadline int64, armed bool) {
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

// abandonTimers ends all timers as they are: not due.
func (l *timedLoop) abandonTimers() {
	for deadline, ok := l.timers.Min(); ok; deadline, ok = l.timers.Min() {
		l.timers.Pop(deadline).Handler.OnTimer(l.now)
	}
}
