package sender

// ContinuesOn returns a sender that completes as s does, but on the resource of sch.
//
// Completion: on sch. If sch is shutting down, it completes stopped, where sch calls [Runner].Abandon, and the result
// of s is dropped; if sch refuses the work, with the reason. The result of s is not new work, so a limit of sch does
// not apply to it.
//
// Cancellation: by s. A stop request does not affect the transfer to sch, so it loses no result.
//
// Source: P2300R10 [exec.continues.on].
func ContinuesOn[T, O any, S Sender[T, O]](s S, sch Scheduler) ContinuesOnSender[T, O, S] {
	return ContinuesOnSender[T, O, S]{s, sch}
}

// ContinuesOnSender is the sender that [ContinuesOn] returns.
type ContinuesOnSender[T, O any, S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// ContinuesOnOp is the operation state of [ContinuesOnSender].
type ContinuesOnOp[T, O any] struct {
	child      O
	reschedule rescheduleReceiver[T]
}

// Connect implements [Sender].
func (s ContinuesOnSender[T, O, S]) Connect(op *ContinuesOnOp[T, O], r Receiver[T]) Operation {
	op.reschedule.init(s.sch, r)
	return s.s.Connect(&op.child, &op.reschedule)
}

// CompletionBehavior implements [CompletionDescriber].
func (s *ContinuesOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), schedulerBehavior(s.sch))
}
