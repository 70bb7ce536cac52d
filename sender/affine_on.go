package sender

// AffineOn completes as s does, on the resource of sch, where it must be started. It is ContinuesOn
// that spares itself the way if s says that it completes where it is started: see CompletionOf. The
// rest is as in ContinuesOn, and nothing is allocated.
//
// Source: P3552R3 §4.3 and [exec.affine.on]; that a stop request does not touch the way is LWG 4332.
func AffineOn[T, O any, P Operation[O], S Sender[T, O]](s S, sch Scheduler) AffineOnSender[T, O, P, S] {
	return AffineOnSender[T, O, P, S]{s, sch}
}

// AffineOnSender is what AffineOn returns.
type AffineOnSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s   S
	sch Scheduler
}

// AffineOnOp is the operation state of AffineOn.
type AffineOnOp[T, O any, P Operation[O], S Sender[T, O]] struct {
	child O
	s     S // lies here to be asked for its Completion without an allocation
	hop   hop[T]
}

// Connect implements Sender.
func (s AffineOnSender[T, O, P, S]) Connect(op *AffineOnOp[T, O, P, S], r Receiver[T]) {
	op.s = s.s
	if CompletionOf(&op.s) >= Affine {
		s.s.Connect(&op.child, r)
		return
	}
	op.hop.connect(s.sch, r)
	s.s.Connect(&op.child, &op.hop)
}

// Completion implements Completer.
func (s *AffineOnSender[T, O, P, S]) Completion() Completion { return max(CompletionOf(&s.s), Affine) }

// Start implements Operation.
func (op *AffineOnOp[T, O, P, S]) Start() { P(&op.child).Start() }
