package sched

import (
	"runtime"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// NewThread is the TimedScheduler that gives each piece of work an OS thread of its own, which ends
// with it. It is no resource that could shut down, so it abandons nothing but what is stopped, and all
// of them are equal. Go makes threads or ends the program (beyond debug.SetMaxThreads, 10 000), so there is no
// error to report: a timer costs a thread too, and Goroutines is what programs with many of them want.
//
// Enqueue allocates a goroutine, EnqueueAt also what it takes to wake it.
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

// Clock is the time in nanoseconds since the process began. From any thread.
func (NewThread) Clock() int64 { return monotonic() }

// EnqueueAt implements sender.TimedScheduler: a new thread sleeps until the deadline, and is woken when
// stop is requested.
func (NewThread) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	w.Deadline = deadline
	s := &sleeper{w: w, stopped: make(chan struct{})}
	w.Stop.Register(token, s)
	go s.sleep()
}

// sleeper is a thread that sleeps, and the handler of its stop callback.
type sleeper struct {
	w       *sender.TimedWork
	stopped chan struct{}
}

func (s *sleeper) OnStop() { close(s.stopped) }

func (s *sleeper) sleep() {
	runtime.LockOSThread()
	w := s.w
	if d := until(w.Deadline, monotonic()); d > 0 {
		alarm := time.NewTimer(d)
		select {
		case <-alarm.C:
		case <-s.stopped:
			alarm.Stop()
		}
	}
	w.Stop.Deregister()
	if w.Deadline <= monotonic() {
		w.Runner.Run()
	} else {
		w.Runner.Abandon(sender.ErrStopped)
	}
}
