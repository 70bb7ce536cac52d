package sender

// Fallback completes as a does, unless a fails: then it goes on with b, and completes as b does. a's
// error is dropped; LetError is for those who want to see it. It completes where whichever of them
// ran last does. A stop request is the affair of whichever is running, and one that is stopped is not
// replaced. Nothing is allocated.
//
// Source: P1525R1 Appendix B (fallback).
func Fallback[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) FallbackSender[T, O1, O2, P1, P2, S1, S2] {
	return FallbackSender[T, O1, O2, P1, P2, S1, S2]{a, b}
}

// FallbackSender is what Fallback returns.
type FallbackSender[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// FallbackOp is the operation state of Fallback.
type FallbackOp[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] struct {
	first  O1
	second O2
	b      S2
	r      Receiver[T]
}

// Connect implements Sender.
func (s FallbackSender[T, O1, O2, P1, P2, S1, S2]) Connect(op *FallbackOp[T, O1, O2, P1, P2, S2], r Receiver[T]) {
	op.b, op.r = s.b, r
	s.a.Connect(&op.first, (*fallbackReceiver[T, O1, O2, P1, P2, S2])(op))
}

// Completion implements Completer.
func (s *FallbackSender[T, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.a), CompletionOf(&s.b))
}

// Start implements Operation.
func (op *FallbackOp[T, O1, O2, P1, P2, S2]) Start() { P1(&op.first).Start() }

type fallbackReceiver[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] FallbackOp[T, O1, O2, P1, P2, S2]

func (op *fallbackReceiver[T, O1, O2, P1, P2, S2]) SetError(error) {
	if err := protect(func() { op.b.Connect(&op.second, op.r) }); err != nil {
		op.r.SetError(err)
		return
	}
	P2(&op.second).Start()
}

func (op *fallbackReceiver[T, O1, O2, P1, P2, S2]) SetValue(v T) { op.r.SetValue(v) }
func (op *fallbackReceiver[T, O1, O2, P1, P2, S2]) SetStopped()  { op.r.SetStopped() }
func (op *fallbackReceiver[T, O1, O2, P1, P2, S2]) Env() Env     { return op.r.Env() }
