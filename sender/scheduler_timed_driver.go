package sender

import (
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// TimerDriver is an execution resource that keeps its timers on one thread, which Enqueue reaches from any other. It
// implements [TimedScheduler].EnqueueAt by [TimedWork.Submit], which cancels timers safely:
//
// Cancellation is a second operation. It is submitted to the driver's queue as any work is, and the work's Runner is
// called when both have completed. The work counts its operations: one, or two while a cancellation is in flight. So
// neither the caller's storage nor the driver's queue can hold anything of work that has completed.
//
//	Submit             operations = 1; register the stop callback; enqueue the submission
//	stop request       operations = 2; enqueue the cancellation
//	driver: submission Arm; when the timer is due: deregister the callback; operations - 1
//	driver: cancel     Disarm; if the timer was armed, end it as above; operations - 1
//	operations = 0     call the Runner
//
// Deregistering the callback waits for a stop request that is running on another thread. No stop request can follow,
// so from there on the count only falls. A timer that has been found due stays due: the completion of a cancellation
// never decides the outcome.
//
// The article registers the callback after it has enqueued the timer, so that the cancellation is always behind its
// timer in the queue. But then the driver may complete the operation, and its owner may reuse the storage, while
// Start is still registering. Here the callback is registered first. A cancellation that runs before its submission
// sets a mark, and the submission ends the timer.
//
// Source: the timed_run_loop of the article on sender factories.
type TimerDriver interface {
	Scheduler
	// Arm starts w's timer: it calls w.Settle when w.Deadline has passed, or when the resource ends. If the deadline
	// has already passed, it calls Settle inside Arm. It is called on the driving thread.
	Arm(w *TimedWork)
	// Disarm stops w's timer, so that Settle is not called, and reports whether the timer was armed. It is called on
	// the driving thread.
	Disarm(w *TimedWork) bool
}

// Submit implements [TimedScheduler].EnqueueAt for a resource that is a [TimerDriver].
func (w *TimedWork) Submit(d TimerDriver, deadline int64, token stop.Token) {
	w.driver, w.deadline, w.cancelled, w.due, w.reason = d, deadline, false, false, ErrStopped
	w.submission.Runner = (*timedSubmission)(w)
	w.operations.Store(1)
	if token.StopPossible() {
		w.cancellation.Runner = (*timedCancellation)(w)
		w.onStop.Register(token, (*timedStop)(w))
	}
	d.Enqueue(&w.submission)
}

// Settle ends the timer; due reports whether the deadline has passed. The driver calls it once for each Arm that was
// not undone by Disarm, on its thread, when it no longer needs w.
func (w *TimedWork) Settle(due bool) {
	w.onStop.Deregister()
	w.due = due
	w.operationCompleted()
}

// Deadline returns the deadline of Submit.
func (w *TimedWork) Deadline() int64 { return w.deadline }

// Driver returns the driver of Submit.
func (w *TimedWork) Driver() TimerDriver { return w.driver }

// Timer returns storage for the driver's timer queue.
func (w *TimedWork) Timer() *timerqueue.Timer { return &w.timer }

// operationCompleted counts the submission or the cancellation as completed. The last of them completes the work, and
// forgets the driver.
func (w *TimedWork) operationCompleted() {
	switch n := w.operations.Add(-1); {
	case n > 0:
	case n < 0:
		panic("sender: an operation of timed work completed twice: call Settle once for each Arm")
	case w.due:
		w.driver = nil
		w.Runner.Run()
	default:
		w.driver = nil
		w.Runner.Abandon(w.reason)
	}
}

// timedStop is the handler of the stop callback.
type timedStop TimedWork

func (w *timedStop) OnStop() {
	w.operations.Add(1)
	w.driver.Enqueue(&w.cancellation)
}

// timedSubmission is the work that arms the timer.
type timedSubmission TimedWork

func (w *timedSubmission) Run() {
	if w.cancelled {
		(*TimedWork)(w).Settle(false)
		return
	}
	w.driver.Arm((*TimedWork)(w))
}

// Abandon settles work that the driver refuses.
func (w *timedSubmission) Abandon(reason error) {
	w.reason = reason
	(*TimedWork)(w).Settle(false)
}

// timedCancellation is the work that disarms the timer.
type timedCancellation TimedWork

func (w *timedCancellation) Run() {
	w.cancelled = true
	if w.driver.Disarm((*TimedWork)(w)) {
		(*TimedWork)(w).Settle(false)
	}
	(*TimedWork)(w).operationCompleted()
}

func (w *timedCancellation) Abandon(error) { (*TimedWork)(w).operationCompleted() }
