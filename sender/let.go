package sender

// Let goes on with the sender f(v) when s completes with v, and passes on the rest. Its storage holds
// both operations. It completes where f(v) does, or where s does if that has no value. A stop request is
// the affair of whichever is running; nothing is allocated.
//
// Source: P2300R10 [exec.let] (let_value).
func Let[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]](
	s S1, f func(A) S2,
) LetSender[A, B, O1, O2, S1, S2] {
	return LetSender[A, B, O1, O2, S1, S2]{s, f}
}

// LetSender is what Let returns.
type LetSender[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]] struct {
	s S1
	f func(A) S2
}

// LetOp is the operation state of Let.
type LetOp[A, B, O1, O2 any] struct {
	first  O1
	second O2
	f      continuation[A, B, O2]
	r      Receiver[B]
}

// Connect implements Sender.
func (s LetSender[A, B, O1, O2, S1, S2]) Connect(op *LetOp[A, B, O1, O2], r Receiver[B]) Operation {
	op.f, op.r = function[A, B, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letReceiver[A, B, O1, O2])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *LetSender[A, B, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionOfType[S2]())
}

type letReceiver[A, B, O1, O2 any] LetOp[A, B, O1, O2]

func (op *letReceiver[A, B, O1, O2]) SetValue(v A) {
	// The second operation needs nothing of this one, so it completes the receiver itself.
	var second Operation
	if protect(func() { second = op.f.connect(v, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letReceiver[A, B, O1, O2]) SetError(err error) { op.r.SetError(err) }
func (op *letReceiver[A, B, O1, O2]) SetStopped()        { op.r.SetStopped() }
func (op *letReceiver[A, B, O1, O2]) Env() Env           { return op.r.Env() }
