package sched

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Deadline is a [sender.Scheduler] that abandons work which On has not begun Within that time, by Timer's clock. Use
// it to drop work whose result is too late to be useful. The reason is os.ErrDeadlineExceeded, and the work is
// abandoned on Timer's resource. As First of a [Fallback], a Deadline makes Second run the work that On does not begin
// in time. Work that On or Timer refuses is treated as [Deadline.Schedule] says.
//
// A deadline applies to all work, also to the results of operations and to the resumption of tasks. A task that misses
// one is abandoned: its deferred functions run on Timer's resource.
//
// Work is abandoned in time even if On is stuck, so On may still hold the storage then. What On and Timer hold is
// therefore not the caller's but from a pool. It returns to the pool when both have released it.
//
// Allocation: nothing, when the pool is warm.
//
// Source: the deadline executor of P1525R1 §2.2.
type Deadline struct {
	On     sender.Scheduler
	Timer  sender.TimedScheduler
	Within time.Duration
}

// Enqueue implements [sender.Scheduler].
func (d Deadline) Enqueue(w *sender.Work) {
	d.submit((*deadlineWork)(w), w.ExemptFromLimit(), stop.Token{})
}

// deadlineWork is work as a deadlineClient.
type deadlineWork sender.Work

func (w *deadlineWork) run()                 { w.Runner.Run() }
func (w *deadlineWork) abandon(reason error) { w.Runner.Abandon(reason) }

// Schedule returns a sender that completes on On or, if On does not run it in time, with os.ErrDeadlineExceeded on
// Timer's resource. If On refuses it, it completes as [sender.Schedule] does. If Timer refuses it, there is no
// deadline.
//
// Cancellation: a stop request completes it soon, stopped, on the resource that runs it first, usually Timer's; inside
// Start if stop was requested before.
func (d Deadline) Schedule() DeadlineSender { return DeadlineSender{d} }

// DeadlineSender is the sender that [Deadline.Schedule] returns.
type DeadlineSender struct{ d Deadline }

// DeadlineOp is the operation state of [DeadlineSender].
type DeadlineOp struct {
	d Deadline
	r sender.Receiver[struct{}]
}

// Connect implements [sender.Sender].
func (s DeadlineSender) Connect(op *DeadlineOp, r sender.Receiver[struct{}]) sender.Operation {
	op.d, op.r = s.d, r
	return op
}

// Start implements [sender.Operation].
func (op *DeadlineOp) Start() {
	token := op.r.Env().StopToken()
	if token.StopRequested() {
		op.r.SetStopped()
		return
	}
	op.d.submit((*deadlineOpClient)(op), false, token)
}

// deadlineOpClient is a DeadlineOp as a deadlineClient.
type deadlineOpClient DeadlineOp

func (op *deadlineOpClient) run()                 { op.r.SetValue(struct{}{}) }
func (op *deadlineOpClient) abandon(reason error) { sender.CompleteAbandoned(op.r, reason) }

// submit enqueues an entry for c on both resources.
func (d Deadline) submit(c deadlineClient, exempt bool, token stop.Token) {
	e := deadlineEntries.Get().(*deadlineEntry)
	e.client, e.exempt = c, exempt
	e.completed.Store(false)
	e.holders.Store(2)
	e.timerStop.Reset()
	e.onStop.Register(token, e)
	d.Timer.EnqueueAt(&e.timer, after(d.Timer.Clock(), d.Within), e.timerStop.Token())
	d.On.Enqueue(&e.work)
}

// deadlineClient waits for a deadlineEntry: exactly one of its methods is called.
type deadlineClient interface {
	run()
	abandon(reason error)
}

// deadlineEntry stands for a client in the queues of both resources. The first resource that calls it completes the
// client, and the last one puts the entry back into the pool. A stop request goes to the timer, which can be
// cancelled.
type deadlineEntry struct {
	client    deadlineClient
	exempt    bool // of the client's work; On may ask for it when the client has completed
	work      sender.Work
	timer     sender.TimedWork
	timerStop stop.Source
	onStop    stop.Callback
	completed atomic.Bool
	holders   atomic.Int32 // resources that hold the entry
}

var deadlineEntries = sync.Pool{New: func() any {
	e := new(deadlineEntry)
	e.work.Runner = (*deadlineEntryWork)(e)
	e.timer.Runner = (*deadlineEntryTimer)(e)
	return e
}}

// take returns the client to the first caller, which is to complete it, and nil to all others. When it has returned, no
// stop request is running.
func (e *deadlineEntry) take() deadlineClient {
	if !e.completed.CompareAndSwap(false, true) {
		return nil
	}
	e.onStop.Deregister()
	c := e.client
	e.client = nil
	return c
}

// release ends a resource's hold on the entry; the last one puts it back into the pool.
func (e *deadlineEntry) release() {
	if e.holders.Add(-1) == 0 {
		deadlineEntries.Put(e)
	}
}

// OnStop forwards the client's stop request to the timer.
func (e *deadlineEntry) OnStop() { e.timerStop.RequestStop() }

// deadlineEntryWork is an entry as On's work.
type deadlineEntryWork deadlineEntry

func (w *deadlineEntryWork) Run() {
	e := (*deadlineEntry)(w)
	c := e.take()
	stopped := c != nil && !e.timerStop.RequestStop() // the client's stop request came first
	e.release()
	switch {
	case c == nil:
	case stopped:
		c.abandon(sender.ErrStopped)
	default:
		c.run()
	}
}

func (w *deadlineEntryWork) Abandon(reason error) {
	e := (*deadlineEntry)(w)
	c := e.take()
	if c != nil {
		e.timerStop.RequestStop()
	}
	e.release()
	if c != nil {
		c.abandon(reason)
	}
}

// ExemptFromLimit implements [sender.LimitExempter] as the client's work does.
func (w *deadlineEntryWork) ExemptFromLimit() bool { return w.exempt }

// deadlineEntryTimer is an entry as Timer's work.
type deadlineEntryTimer deadlineEntry

func (t *deadlineEntryTimer) Run() {
	e := (*deadlineEntry)(t)
	c := e.take()
	e.release()
	if c != nil {
		c.abandon(os.ErrDeadlineExceeded)
	}
}

// Abandon completes the client if it was stopped. It does nothing to one that has completed. If the timer was refused,
// there is no deadline.
func (t *deadlineEntryTimer) Abandon(error) {
	e := (*deadlineEntry)(t)
	var c deadlineClient
	if e.timerStop.StopRequested() {
		c = e.take()
	}
	e.release()
	if c != nil {
		c.abandon(sender.ErrStopped)
	}
}
