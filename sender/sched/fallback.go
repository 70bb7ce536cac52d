package sched

import (
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Fallback is a Scheduler that runs work on First or, if that abandons it, on Second: because First is
// shutting down or has ended, because it has as much as it can take, because it did not get to it in time.
// Work is abandoned when both do so, for Second's reason. Two that are of equal schedulers are equal.
//
// First may refuse late, long after Enqueue, and Second is asked by whoever calls Abandon then. What
// stands between the work and its Runner meanwhile is taken from a pool, so that, when warm, nothing
// allocates.
//
// Source: the fallback_scheduler of P1525R1 Appendix B, where the first one's error is the refusal.
type Fallback struct{ First, Second sender.Scheduler }

// Enqueue implements sender.Scheduler.
func (f Fallback) Enqueue(w *sender.Work) {
	a := attempts.Get().(*attempt)
	a.inner, a.second = w, f.Second
	f.First.Enqueue(&a.work)
}

// attempt is work that is tried on the first scheduler in place of inner.
type attempt struct {
	work   sender.Work
	inner  *sender.Work
	second sender.Scheduler
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.work.Runner = a
	return a
}}

// release puts a back and returns what it was for.
func (a *attempt) release() (inner *sender.Work, second sender.Scheduler) {
	inner, second = a.inner, a.second
	a.inner, a.second = nil, nil
	attempts.Put(a)
	return inner, second
}

// Run: First has taken it.
func (a *attempt) Run() {
	inner, _ := a.release()
	inner.Runner.Run()
}

// Abandon: First has refused it.
func (a *attempt) Abandon(error) {
	inner, second := a.release()
	second.Enqueue(inner)
}

// Continues implements sender.Continuation: as the work does.
func (a *attempt) Continues() bool { return a.inner.Continues() }

// TimedFallback is Fallback of timed schedulers. Its clock is First's, and a deadline is converted to
// Second's clock when Second is asked. Work that First abandons because stop was requested is not
// tried again.
type TimedFallback struct{ First, Second sender.TimedScheduler }

// Enqueue implements sender.Scheduler.
func (f TimedFallback) Enqueue(w *sender.Work) { Fallback{f.First, f.Second}.Enqueue(w) }

// Clock is First's.
func (f TimedFallback) Clock() int64 { return f.First.Clock() }

// EnqueueAt implements sender.TimedScheduler.
func (f TimedFallback) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	a := timedAttempts.Get().(*timedAttempt)
	a.inner, a.schedulers, a.deadline, a.token = w, f, deadline, token
	f.First.EnqueueAt(&a.work, deadline, token)
}

// timedAttempt is an attempt with a deadline.
type timedAttempt struct {
	work       sender.TimedWork
	inner      *sender.TimedWork
	schedulers TimedFallback
	deadline   int64
	token      stop.Token
}

var timedAttempts = sync.Pool{New: func() any {
	a := new(timedAttempt)
	a.work.Runner = a
	return a
}}

func (a *timedAttempt) release() {
	a.inner, a.schedulers, a.token, a.work.Owner = nil, TimedFallback{}, stop.Token{}, nil
	timedAttempts.Put(a)
}

// Run: First was on time.
func (a *timedAttempt) Run() {
	inner := a.inner
	a.release()
	inner.Runner.Run()
}

// Abandon: First was asked to stop, or has refused it.
func (a *timedAttempt) Abandon(error) {
	inner, f, deadline, token := a.inner, a.schedulers, a.deadline, a.token
	a.release()
	if token.StopRequested() {
		inner.Runner.Abandon(sender.ErrStopped)
		return
	}
	f.Second.EnqueueAt(inner, after(f.Second.Clock(), until(deadline, f.First.Clock())), token)
}
