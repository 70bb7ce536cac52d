package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// TimedScheduler is a Scheduler with a clock.
//
// A deadline is a time in nanoseconds on that clock, which is monotonic: it is not set back or forth
// under a timer as a wall clock is, it is what timerqueue orders by and what loops sleep on, and it can
// be a simulated one. Clocks of different resources need not agree. A wall-clock time t is reached by
// ScheduleAfter(s, time.Until(t)).
//
// As with Scheduler, the storage is the caller's, so that a timer needs no allocation and cannot fail.
// How it is cancelled is left to the resource, which is why the stop token is given to it: one that
// keeps its timers on a single thread submits the cancellation there, one that gives each timer a
// thread wakes that.
//
// Source: the timed_scheduler of the article on sender factories (schedule_at, now); P2300R10
// [exec.sched].
type TimedScheduler interface {
	Scheduler
	// Clock is the time, in nanoseconds on the resource's clock. From any thread.
	Clock() int64
	// EnqueueAt arranges for one of the methods of w.Runner to be called, once, and never inside
	// EnqueueAt unless the resource is shutting down. Run is called on the resource when the deadline
	// has passed, and soon if it already has. Abandon is called, soon, if token stopped before that
	// (on the resource, never inside the stop request), or if the resource is shutting down or refuses
	// the work (on any thread). A timer that is due is due: Run may follow a stop request that came too
	// late.
	//
	// It may be called from any thread. w belongs to the resource until Run or Abandon is called, and
	// no callback is registered with token any more by then.
	EnqueueAt(w *TimedWork, deadline int64, token stop.Token)
}

// TimedWork is work with a deadline, and the storage for all that a resource may need to run it on
// time and to cancel it. It is used again as often as one likes, but not copied.
type TimedWork struct {
	// Runner is called when the work's turn comes. Set it before EnqueueAt.
	Runner Runner

	// All else is for the resource to use as it sees fit, from EnqueueAt until Runner is called.

	Owner        Scheduler        // the resource
	Deadline     int64            // ns on its clock
	Timer        timerqueue.Timer // the place among its timers
	Tag          uint64           // what the resource knows the work by
	Submission   Work             // the place in its queue
	Cancellation Work             // the cancellation's place in its queue
	Stop         stop.Callback    // registered with the token
	Count        atomic.Int32     // operations of this work that are out
	Cancelled    bool
	Due          bool
	Reason       error // what Abandon is to be called with
}
