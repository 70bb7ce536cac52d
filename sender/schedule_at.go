package sender

import (
	"math"
	"time"
)

// ScheduleAt completes on the resource of sch when its clock reaches deadline (ns, see
// TimedScheduler), without a value to speak of; soon, if that time has passed. A stop request before
// then ends it soon, stopped, on the resource; inside Start if stop was requested before that. It also
// completes stopped if the resource is shutting down, and with the reason if the resource refuses it: see
// Runner. Nothing allocates but what the resource says.
//
// Source: schedule_at of the article on sender factories; libunifex's schedule_at.
func ScheduleAt(sch TimedScheduler, deadline int64) ScheduleAtSender {
	return ScheduleAtSender{sch: sch, at: deadline}
}

// ScheduleAfter is ScheduleAt of the time d after Start. The deadline is computed by Start, not when
// the sender is made or connected, so that one that waits its turn in a chain waits for d all the same.
// d that is not positive has passed.
//
// Source: schedule_after of the article on sender factories, let_value(just(), schedule_at(now() + d)).
func ScheduleAfter(sch TimedScheduler, d time.Duration) ScheduleAtSender {
	return ScheduleAtSender{sch: sch, at: int64(d), relative: true}
}

// ScheduleAtSender is what ScheduleAt and ScheduleAfter return.
type ScheduleAtSender struct {
	sch      TimedScheduler
	at       int64
	relative bool
}

// ScheduleAtOp is the operation state of ScheduleAt and ScheduleAfter. It may be started again without
// connecting it anew.
type ScheduleAtOp struct {
	work     TimedWork
	sch      TimedScheduler
	at       int64
	relative bool
	r        Receiver[struct{}]
}

// Connect implements Sender.
func (s ScheduleAtSender) Connect(op *ScheduleAtOp, r Receiver[struct{}]) Operation {
	op.sch, op.at, op.relative, op.r = s.sch, s.at, s.relative, r
	op.work.Runner = (*scheduleAtRunner)(op)
	return op
}

// Start implements Operation.
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
func (op *scheduleAtRunner) Abandon(reason error) { Abandon(op.r, reason) }
