package sender

// Schedule completes on the resource of sch, without a value to speak of. It completes stopped if stop
// was requested before its turn comes, or if the resource is shutting down; inside Start if stop was
// requested before that. If the resource refuses it, it completes with the reason, see Runner, where the
// resource says so.
//
// Source: P2300R10 [exec.schedule], P1525R1 §4.
func Schedule(sch Scheduler) ScheduleSender { return ScheduleSender{sch} }

// ScheduleSender is what Schedule returns.
type ScheduleSender struct{ sch Scheduler }

// ScheduleOp is the operation state of Schedule.
type ScheduleOp struct {
	work Work
	sch  Scheduler
	r    Receiver[struct{}]
}

// Connect implements Sender.
func (s ScheduleSender) Connect(op *ScheduleOp, r Receiver[struct{}]) Operation {
	op.sch, op.r = s.sch, r
	op.work = Work{Runner: (*scheduleRunner)(op)}
	return op
}

// Start implements Operation.
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

func (op *scheduleRunner) Abandon(reason error) { Abandon(op.r, reason) }
