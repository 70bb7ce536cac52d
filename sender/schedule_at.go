package sender

import (
	"math"
	"time"
)

// ScheduleAt returns a sender that completes on the resource of sch when its clock reaches deadline, in nanoseconds:
// see [TimedScheduler]. If this time has passed, it completes soon.
//
// Completion: on sch, with an empty value; stopped if the resource is shutting down. If the resource refuses the
// work, it completes with the reason, where the resource calls [Runner].Abandon.
//
// Cancellation: a stop request before the deadline completes it soon, stopped, on the resource; before Start, inside
// Start.
//
// Allocation: what the resource documents.
//
// Source: schedule_at of the article on sender factories; libunifex's schedule_at.
func ScheduleAt(sch TimedScheduler, deadline int64) ScheduleAtSender {
	return ScheduleAtSender{sch: sch, at: deadline}
}

// ScheduleAfter does what [ScheduleAt] does, at the time d after Start. Start computes the deadline, so a timer that is
// started late, as part of a larger operation, still waits for d. If d is not positive it has passed.
//
// Source: schedule_after of the article on sender factories, let_value(just(), schedule_at(now() + d)).
func ScheduleAfter(sch TimedScheduler, d time.Duration) ScheduleAtSender {
	return ScheduleAtSender{sch: sch, at: int64(d), relative: true}
}

// ScheduleAtSender is the sender that [ScheduleAt] and [ScheduleAfter] return.
type ScheduleAtSender struct {
	sch      TimedScheduler
	at       int64
	relative bool
}

// ScheduleAtOp is the operation state of [ScheduleAtSender].
type ScheduleAtOp struct {
	work     TimedWork
	sch      TimedScheduler
	at       int64
	relative bool
	r        Receiver[struct{}]
}

// Connect implements [Sender].
func (s ScheduleAtSender) Connect(op *ScheduleAtOp, r Receiver[struct{}]) Operation {
	op.sch, op.at, op.relative, op.r = s.sch, s.at, s.relative, r
	op.work.Runner = (*scheduleAtRunner)(op)
	return op
}

// Start implements [Operation].
func (op *ScheduleAtOp) Start() {
	token := op.r.Env().StopToken()
	if token.StopRequested() {
		op.r.SetStopped()
		return
	}
	deadline := op.at
	if op.relative {
		now := op.sch.Clock()
		if deadline = now + max(op.at, 0); deadline < now {
			deadline = math.MaxInt64
		}
	}
	op.sch.EnqueueAt(&op.work, deadline, token)
}

type scheduleAtRunner ScheduleAtOp

func (op *scheduleAtRunner) Run()                 { op.r.SetValue(struct{}{}) }
func (op *scheduleAtRunner) Abandon(reason error) { CompleteAbandoned(op.r, reason) }
