package sched

import (
	"runtime"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// NewThread is the [sender.TimedScheduler] that gives each unit of work its own OS thread. The thread ends with the
// work. NewThread never shuts down, so it abandons only work that is stopped. All values are equal.
//
// Go either makes a thread or ends the program (at more than 10 000 threads, see debug.SetMaxThreads), so there is no
// error to report. A timer needs a thread too: programs with many timers use [Goroutines].
//
// Allocation: Enqueue allocates a goroutine; EnqueueAt also allocates what wakes it.
//
// Source: the jthread_scheduler of the article on sender factories.
type NewThread struct{}

// Enqueue runs w on a new thread.
func (NewThread) Enqueue(w *sender.Work) {
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		w.Runner.Run()
	}()
}

// Clock returns the time in nanoseconds since the process began. It may be called from any thread.
func (NewThread) Clock() int64 { return monotonic() }

// EnqueueAt implements [sender.TimedScheduler]: a new thread sleeps until the deadline, or until stop is requested.
func (NewThread) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	s := &sleepingThread{w: w, deadline: deadline, stopped: make(chan struct{})}
	s.onStop.Register(token, s)
	go s.sleep()
}

// sleepingThread is a thread that sleeps, and the handler of its stop callback.
type sleepingThread struct {
	w        *sender.TimedWork
	deadline int64
	onStop   stop.Callback
	stopped  chan struct{}
}

func (s *sleepingThread) OnStop() { close(s.stopped) }

func (s *sleepingThread) sleep() {
	runtime.LockOSThread()
	if d := until(s.deadline, monotonic()); d > 0 {
		alarm := time.NewTimer(d)
		select {
		case <-alarm.C:
		case <-s.stopped:
			alarm.Stop()
		}
	}
	s.onStop.Deregister()
	if s.deadline <= monotonic() {
		s.w.Runner.Run()
	} else {
		s.w.Runner.Abandon(sender.ErrStopped)
	}
}
