package sender

// Fallback returns a sender that completes as a does, unless a fails: then it starts b. The error of a is dropped;
// [LetError] gets it.
//
// Completion: as and where b completes, if a fails; otherwise as and where a does. Stopped is forwarded unchanged.
//
// Cancellation: by the operation that is running, a or b.
//
// Allocation: Connect allocates a copy of b, once for each operation state.
//
// Source: P1525R1 Appendix B (fallback).
func Fallback[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) FallbackSender[T, O1, O2, S1, S2] {
	return FallbackSender[T, O1, O2, S1, S2]{a, b}
}

// FallbackSender is the sender that [Fallback] returns.
type FallbackSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// FallbackOp is the operation state of [FallbackSender].
type FallbackOp[T, O1, O2 any] struct {
	first  O1
	second O2
	b      storedSender[T, O2]
	r      Receiver[T]
}

// Connect implements [Sender].
func (s FallbackSender[T, O1, O2, S1, S2]) Connect(op *FallbackOp[T, O1, O2], r Receiver[T]) Operation {
	op.b, op.r = store(op.b, s.b), r
	return s.a.Connect(&op.first, (*fallbackReceiver[T, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *FallbackSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

type fallbackReceiver[T, O1, O2 any] FallbackOp[T, O1, O2]

func (op *fallbackReceiver[T, O1, O2]) SetError(error) {
	var second Operation
	if protect(func() { second = op.b.connect(&op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *fallbackReceiver[T, O1, O2]) SetValue(v T) { op.r.SetValue(v) }
func (op *fallbackReceiver[T, O1, O2]) SetStopped()  { op.r.SetStopped() }
func (op *fallbackReceiver[T, O1, O2]) Env() Env     { return op.r.Env() }
