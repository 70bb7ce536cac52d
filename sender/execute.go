package sender

import "sync"

// Execute calls f on the resource of sch, some time, and nobody hears of it: there is no result, no
// way to stop it, and if the resource is shutting down or refuses it, because it is full, too late or has
// ended, f is not called and nobody is told. That is all that one-way
// execution can offer, and it is made of Schedule, Connect and Start, not the other way round; where
// any of that matters, use them. A panic of f is the program's.
//
// The operation state is taken from a pool, so that, when warm, it does not allocate.
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
