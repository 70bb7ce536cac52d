package sender

import (
	"sync/atomic"

	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// TimedScheduler is a [Scheduler] with a clock. [ScheduleAt] and [ScheduleAfter] are the senders over it.
//
// A deadline is a time in nanoseconds on this clock. The clock is monotonic, because a wall clock can be set back
// under a timer; and it may be a simulated one. Clocks of different resources need not agree. To wait for a
// wall-clock time t, use ScheduleAfter(s, time.Until(t)).
//
// The storage is the caller's, as with Scheduler, so a timer needs no allocation and cannot fail. The resource gets
// the stop token, because cancellation depends on the resource: one that keeps its timers on a single thread submits
// the cancellation there (see [TimerDriver]), one that has a thread for each timer wakes that thread.
//
// Source: the timed_scheduler of the article on sender factories (schedule_at, now); P2300R10 [exec.sched].
type TimedScheduler interface {
	Scheduler
	// Clock returns the time in nanoseconds on the resource's clock. It may be called from any thread.
	Clock() int64
	// EnqueueAt arranges for one of the methods of w.Runner to be called, once, and not inside EnqueueAt unless the
	// resource is shutting down or has ended.
	//
	// Run is called on the resource when the deadline has passed; soon, if it has already passed. Abandon is called
	// soon if token is requested to stop before the deadline (on the resource, never inside the stop request), and if
	// the resource is shutting down or refuses the work (on any thread). A timer that has been found due stays due:
	// Run may follow a stop request that came too late.
	//
	// It may be called from any thread. w belongs to the resource until Run or Abandon is called. By then no callback
	// is registered with token.
	EnqueueAt(w *TimedWork, deadline int64, token stop.Token)
}

// TimedWork is work with a deadline. It has the storage that a resource needs to run it at the deadline and to
// cancel it. It may be used again after it has been run or abandoned. It must not be copied.
type TimedWork struct {
	// Runner is called by the resource. Set it before EnqueueAt.
	Runner Runner
	// Tag belongs to the resource's [TimerDriver], which may store there what it knows the work by.
	Tag uint64

	driver       TimerDriver
	deadline     int64            // ns on the driver's clock
	timer        timerqueue.Timer // for the driver's timer queue
	submission   Work             // arms the timer on the driving thread
	cancellation Work             // disarms it there
	onStop       stop.Callback    // registered with the token
	operations   atomic.Int32     // operations of this work that have not completed: submission and cancellation
	cancelled    bool             // the cancellation has run
	due          bool             // the timer expired
	reason       error            // what Abandon is called with
}
