package sender

// AffineOn returns a sender that completes as s does, on the resource of sch, where it must be started. It is
// [ContinuesOn] without the transfer if s says that it completes where it is started: see [CompletionBehaviorOf].
//
// Completion: on sch, as ContinuesOn. It does not itself claim to be [Affine]: when sch abandons the transfer it
// completes on another thread.
//
// Cancellation: as ContinuesOn.
//
// Allocation: Connect allocates a copy of s, once for each operation state.
//
// Source: P3552R3 §4.3 and [exec.affine.on]. That a stop request does not affect the transfer is LWG 4332.
func AffineOn[T, O any, S Sender[T, O]](s S, sch Scheduler) AffineOnSender[T, O, S] {
	return AffineOnSender[T, O, S]{s, sch}
}

// AffineOnSender is the sender that [AffineOn] returns.
type AffineOnSender[T, O any, S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// AffineOnOp is the operation state of [AffineOnSender].
type AffineOnOp[T, O any] struct {
	child      O
	s          storedSender[T, O]
	reschedule rescheduleReceiver[T]
}

// Connect implements [Sender].
func (s AffineOnSender[T, O, S]) Connect(op *AffineOnOp[T, O], r Receiver[T]) Operation {
	op.s = store(op.s, s.s)
	if op.s.CompletionBehavior() >= Affine {
		return op.s.connect(&op.child, r)
	}
	op.reschedule.init(s.sch, r)
	return op.s.connect(&op.child, &op.reschedule)
}

// CompletionBehavior implements [CompletionDescriber].
func (s *AffineOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}
