package sender

// Let goes on with the sender f(v) when s completes with v, and passes on the rest. Its storage holds
// both operations. It completes where f(v) does, or where s does if that has no value. A stop request is
// the affair of whichever is running; nothing is allocated.
//
// Source: P2300R10 [exec.let] (let_value).
func Let[A, B, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[A, O1], S2 Sender[B, O2]](
	s S1, f func(A) S2,
) LetSender[A, B, O1, O2, P1, P2, S1, S2] {
	return LetSender[A, B, O1, O2, P1, P2, S1, S2]{s, f}
}

// LetSender is what Let returns.
type LetSender[A, B, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[A, O1], S2 Sender[B, O2]] struct {
	s S1
	f func(A) S2
}

// LetOp is the operation state of Let.
type LetOp[A, B, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[B, O2]] struct {
	first  O1
	second O2
	f      func(A) S2
	r      Receiver[B]
}

// Connect implements Sender.
func (s LetSender[A, B, O1, O2, P1, P2, S1, S2]) Connect(op *LetOp[A, B, O1, O2, P1, P2, S2], r Receiver[B]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.first, (*letReceiver[A, B, O1, O2, P1, P2, S2])(op))
}

// Completion implements Completer.
func (s *LetSender[A, B, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.s), completionOfType[S2]())
}

// Start implements Operation.
func (op *LetOp[A, B, O1, O2, P1, P2, S2]) Start() { P1(&op.first).Start() }

type letReceiver[A, B, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[B, O2]] LetOp[A, B, O1, O2, P1, P2, S2]

func (op *letReceiver[A, B, O1, O2, P1, P2, S2]) SetValue(v A) {
	// The second operation needs nothing of this one, so it completes the receiver itself.
	if err := protect(func() { op.f(v).Connect(&op.second, op.r) }); err != nil {
		op.r.SetError(err)
		return
	}
	P2(&op.second).Start()
}

func (op *letReceiver[A, B, O1, O2, P1, P2, S2]) SetError(err error) { op.r.SetError(err) }
func (op *letReceiver[A, B, O1, O2, P1, P2, S2]) SetStopped()        { op.r.SetStopped() }
func (op *letReceiver[A, B, O1, O2, P1, P2, S2]) Env() Env           { return op.r.Env() }
