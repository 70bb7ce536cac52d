package sched

import (
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Driver is a resource that keeps its timers on one thread, to be reached by Enqueue from any other.
type Driver interface {
	sender.Scheduler
	// Arm calls w's handshake's Settle when w.Deadline has passed, or when the resource ends; if it
	// already has, inside Arm. It is called on the driving thread.
	Arm(w *sender.TimedWork)
	// Disarm takes w back, so that Settle is not called, and reports whether it was armed. It is
	// called on the driving thread.
	Disarm(w *sender.TimedWork) bool
}

// Handshake is timed work as an operation on a Driver that is cancelled by a second operation. Both
// are submitted to the driver's queue as any work is, and the receiver hears of the end when both are
// done: there is an operation count, one, and two while a cancellation is out. So neither the storage
// nor the driver's queue can hold anything of an operation that is over.
//
//	Submit             count = 1, register the stop callback, enqueue the timer
//	stop request       count = 2, enqueue the cancellation
//	driver, timer      arm; when due: deregister the callback, count - 1
//	driver, cancel     disarm, and if that succeeded end the timer as above; count - 1
//	whoever reaches 0  calls the runner
//
// Deregistering waits for a stop request that is at work on another thread, and none can follow: from
// there on the count only falls. A timer that was found due stays so, whatever a cancellation that is out
// by then finds: its completion never decides the outcome.
//
// The article registers the callback after it has enqueued the timer, so that the cancellation is
// always behind it; but then the driver may complete the operation, and its owner reuse the storage,
// while Start is still registering. Here the callback is registered first. A cancellation that
// overtakes its timer leaves a mark, and the timer ends when its turn comes.
//
// Source: the timed_run_loop of the article on sender factories.
type Handshake sender.TimedWork

// Submit is the body of an EnqueueAt: see sender.TimedScheduler.
func (h *Handshake) Submit(d Driver, deadline int64, token stop.Token) {
	h.Reason = sender.ErrStopped
	h.Owner, h.Deadline, h.Cancelled, h.Due = d, deadline, false, false
	h.Submission.Runner = (*submission)(h)
	h.Count.Store(1)
	if token.StopPossible() {
		h.Cancellation.Runner = (*cancellation)(h)
		h.Stop.Register(token, (*stopRequest)(h))
	}
	d.Enqueue(&h.Submission)
}

// Settle ends the timer: due tells whether because its time has come. The driver calls it once for
// each Arm that was not taken back, on its thread, when it does not need the work any more.
func (h *Handshake) Settle(due bool) {
	h.Stop.Deregister()
	h.Due = due
	h.leave()
}

// leave ends one of the operations. The last one completes the work.
func (h *Handshake) leave() {
	switch n := h.Count.Add(-1); {
	case n > 0:
	case assert.Enabled && n < 0:
		panic("sched: timed work ended more often than it was submitted")
	case h.Due:
		h.Runner.Run()
	default:
		h.Runner.Abandon(h.Reason)
	}
}

// stopRequest is a Handshake as the handler of its stop callback.
type stopRequest Handshake

func (s *stopRequest) OnStop() {
	s.Count.Add(1)
	s.Owner.Enqueue(&s.Cancellation)
}

// submission is a Handshake as the work that arms it.
type submission Handshake

func (s *submission) Run() {
	if s.Cancelled {
		(*Handshake)(s).Settle(false)
		return
	}
	s.Owner.(Driver).Arm((*sender.TimedWork)(s))
}

// Abandon: the driver has refused it.
func (s *submission) Abandon(reason error) {
	s.Reason = reason
	(*Handshake)(s).Settle(false)
}

// cancellation is a Handshake as the work that disarms it.
type cancellation Handshake

func (c *cancellation) Run() {
	c.Cancelled = true
	if c.Owner.(Driver).Disarm((*sender.TimedWork)(c)) {
		(*Handshake)(c).Settle(false)
	}
	(*Handshake)(c).leave()
}

func (c *cancellation) Abandon(error) { (*Handshake)(c).leave() }
