package sender

import "sync"

// Execute calls f on the resource of sch, at some time. It is one-way: there is no result, and no way to stop it. If
// the resource is shutting down or refuses the work, f is not called and no error is reported. Where that matters use
// [Schedule]. A panic of f is not recovered.
//
// Allocation: nothing, when the pool of operation states is warm.
//
// Source: P1525R1 Appendix A (one-way execute as a generic algorithm).
func Execute(sch Scheduler, f func()) {
	op := executions.Get().(*execution)
	op.f = f
	Schedule(sch).Connect(&op.child, op)
	op.child.Start()
}

var executions = sync.Pool{New: func() any { return new(execution) }}

// execution is the operation state of Execute, and the receiver of its child.
type execution struct {
	EmptyEnv
	child ScheduleOp
	f     func()
}

// release puts op back, cleared, and returns what it had to call.
func (op *execution) release() func() {
	f := op.f
	*op = execution{}
	executions.Put(op)
	return f
}

func (op *execution) SetValue(struct{}) { op.release()() }
func (op *execution) SetError(error)    { op.release() }
func (op *execution) SetStopped()       { op.release() }
func (op *execution) Env() Env          { return op }
