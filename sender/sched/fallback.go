package sched

import (
	"sync"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Fallback is a [sender.Scheduler] that runs work on First or, if First abandons it, on Second. First abandons work
// when it is shutting down or has ended, when it is full, or when it misses a [Deadline]. Work is abandoned when both
// schedulers abandon it, with Second's reason. Two Fallbacks of equal schedulers are equal.
//
// First may refuse late, long after Enqueue. Second is then asked on the thread that calls Abandon.
//
// Allocation: nothing, when the pool that replaces the work on First is warm.
//
// Source: the fallback_scheduler of P1525R1 Appendix B, where the first scheduler's error is the refusal.
type Fallback struct{ First, Second sender.Scheduler }

// Enqueue implements [sender.Scheduler].
func (f Fallback) Enqueue(w *sender.Work) {
	a := attempts.Get().(*attempt)
	a.client, a.second = w, f.Second
	f.First.Enqueue(&a.work)
}

// attempt is the work that is tried on the first scheduler in place of the client's.
type attempt struct {
	work   sender.Work
	client *sender.Work
	second sender.Scheduler
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.work.Runner = a
	return a
}}

// release puts a back into the pool and returns its contents.
func (a *attempt) release() (client *sender.Work, second sender.Scheduler) {
	client, second = a.client, a.second
	a.client, a.second = nil, nil
	attempts.Put(a)
	return client, second
}

// Run runs the client's work on First.
func (a *attempt) Run() {
	client, _ := a.release()
	client.Runner.Run()
}

// Abandon hands the work that First abandons to Second.
func (a *attempt) Abandon(error) {
	client, second := a.release()
	second.Enqueue(client)
}

// ExemptFromLimit implements [sender.LimitExempter] as the client's work does.
func (a *attempt) ExemptFromLimit() bool { return a.client.ExemptFromLimit() }

// TimedFallback is [Fallback] of timed schedulers. Its clock is First's. A deadline is converted to Second's clock
// when Second is asked. Work that First abandons because stop was requested is not tried on Second.
type TimedFallback struct{ First, Second sender.TimedScheduler }

// Enqueue implements [sender.Scheduler].
func (f TimedFallback) Enqueue(w *sender.Work) { Fallback{f.First, f.Second}.Enqueue(w) }

// Clock returns the time of First.
func (f TimedFallback) Clock() int64 { return f.First.Clock() }

// EnqueueAt implements [sender.TimedScheduler].
func (f TimedFallback) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	a := timedAttempts.Get().(*timedAttempt)
	a.client, a.schedulers, a.deadline, a.token = w, f, deadline, token
	f.First.EnqueueAt(&a.work, deadline, token)
}

// timedAttempt is an attempt with a deadline.
type timedAttempt struct {
	work       sender.TimedWork
	client     *sender.TimedWork
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
	a.client, a.schedulers, a.token = nil, TimedFallback{}, stop.Token{}
	timedAttempts.Put(a)
}

// Run runs the client's work on First.
func (a *timedAttempt) Run() {
	client := a.client
	a.release()
	client.Runner.Run()
}

// Abandon hands the work that First abandons to Second.
func (a *timedAttempt) Abandon(error) {
	client, f, deadline, token := a.client, a.schedulers, a.deadline, a.token
	a.release()
	if token.StopRequested() {
		client.Runner.Abandon(sender.ErrStopped)
		return
	}
	f.Second.EnqueueAt(client, after(f.Second.Clock(), until(deadline, f.First.Clock())), token)
}
