package sender

// ContinuesOn completes as s does, but on the resource of sch. A stop request is s's affair, and does
// not touch the way to sch, so that no result is lost by it. If sch is shutting down it completes
// stopped where sch says so, and what s completed with is dropped. Nothing is allocated.
//
// Source: P2300R10 [exec.continues.on].
func ContinuesOn[T, O any, P Operation[O], S Sender[T, O]](s S, sch Scheduler) ContinuesOnSender[T, O, P, S] {
	return ContinuesOnSender[T, O, P, S]{s, sch}
}

// ContinuesOnSender is what ContinuesOn returns.
type ContinuesOnSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// ContinuesOnOp is the operation state of ContinuesOn.
type ContinuesOnOp[T, O any, P Operation[O]] struct {
	child O
	hop   hop[T]
}

// Connect implements Sender.
func (s ContinuesOnSender[T, O, P, S]) Connect(op *ContinuesOnOp[T, O, P], r Receiver[T]) {
	op.hop.connect(s.sch, r)
	s.s.Connect(&op.child, &op.hop)
}

// Completion implements Completer.
func (s *ContinuesOnSender[T, O, P, S]) Completion() Completion {
	return min(CompletionOf(&s.s), completionOn(s.sch))
}

// Start implements Operation.
func (op *ContinuesOnOp[T, O, P]) Start() { P(&op.child).Start() }
