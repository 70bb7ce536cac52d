package sender

// ContinuesOn completes as s does, but on the resource of sch. A stop request is s's affair, and does
// not touch the way to sch, so that no result is lost by it. It is no new
// work, so that a limit of sch does not apply to it. If sch is shutting down it completes stopped where sch
// says so, and what s completed with is dropped; if sch has ended or is too late, with the reason: see
// Runner. Nothing is allocated.
//
// Source: P2300R10 [exec.continues.on].
func ContinuesOn[T, O any, S Sender[T, O]](s S, sch Scheduler) ContinuesOnSender[T, O, S] {
	return ContinuesOnSender[T, O, S]{s, sch}
}

// ContinuesOnSender is what ContinuesOn returns.
type ContinuesOnSender[T, O any, S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// ContinuesOnOp is the operation state of ContinuesOn.
type ContinuesOnOp[T, O any] struct {
	child O
	hop   hop[T]
}

// Connect implements Sender.
func (s ContinuesOnSender[T, O, S]) Connect(op *ContinuesOnOp[T, O], r Receiver[T]) Operation {
	op.hop.connect(s.sch, r)
	return s.s.Connect(&op.child, &op.hop)
}

// CompletionBehavior implements CompletionDescriber.
func (s *ContinuesOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionOn(s.sch))
}
