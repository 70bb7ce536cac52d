package sender

// Schedule returns a sender that completes on the resource of sch.
//
// Completion: on sch, with an empty value; stopped if the resource is shutting down. If the resource refuses the
// work, it completes with the reason, where the resource calls [Runner].Abandon.
//
// Cancellation: a stop request before the resource runs the work completes it stopped there; before Start, inside
// Start.
//
// Source: P2300R10 [exec.schedule], P1525R1 §4.
func Schedule(sch Scheduler) ScheduleSender { return ScheduleSender{sch} }

// ScheduleSender is the sender that [Schedule] returns.
type ScheduleSender struct{ sch Scheduler }

// ScheduleOp is the operation state of [ScheduleSender].
type ScheduleOp struct {
	work Work
	sch  Scheduler
	r    Receiver[struct{}]
}

// Connect implements [Sender].
func (s ScheduleSender) Connect(op *ScheduleOp, r Receiver[struct{}]) Operation {
	op.sch, op.r = s.sch, r
	op.work = Work{Runner: (*scheduleRunner)(op)}
	return op
}

// Start implements [Operation].
func (op *ScheduleOp) Start() {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	op.sch.Enqueue(&op.work)
}

type scheduleRunner ScheduleOp

func (op *scheduleRunner) Run() {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	op.r.SetValue(struct{}{})
}

func (op *scheduleRunner) Abandon(reason error) { CompleteAbandoned(op.r, reason) }
