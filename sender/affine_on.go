package sender

// AffineOn completes as s does, on the resource of sch, where it must be started. It is ContinuesOn
// that spares itself the way if s says that it completes where it is started: see CompletionBehaviorOf. The
// rest is as in ContinuesOn, but that Connect allocates a copy of s, once for each operation state. It
// does not say of itself that it is Affine, for when sch abandons the way it completes on another thread.
//
// Source: P3552R3 §4.3 and [exec.affine.on]; that a stop request does not touch the way is LWG 4332.
func AffineOn[T, O any, S Sender[T, O]](s S, sch Scheduler) AffineOnSender[T, O, S] {
	return AffineOnSender[T, O, S]{s, sch}
}

// AffineOnSender is what AffineOn returns.
type AffineOnSender[T, O any, S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// AffineOnOp is the operation state of AffineOn.
type AffineOnOp[T, O any] struct {
	child O
	s     kept[T, O]
	hop   hop[T]
}

// Connect implements Sender.
func (s AffineOnSender[T, O, S]) Connect(op *AffineOnOp[T, O], r Receiver[T]) Operation {
	op.s = keep(op.s, s.s)
	if op.s.CompletionBehavior() >= Affine {
		return op.s.connect(&op.child, r)
	}
	op.hop.connect(s.sch, r)
	return op.s.connect(&op.child, &op.hop)
}

// CompletionBehavior implements CompletionDescriber.
func (s *AffineOnSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}
