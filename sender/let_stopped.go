package sender

// LetStopped goes on with the sender f() when s completes stopped, and passes on the rest. Its storage
// holds both operations. It completes where f() does, or where s does if that is not stopped. If s was
// stopped by a stop request, the sender f() sees that request too: Unstoppable shields it. Nothing is
// allocated.
//
// Source: P2300R10 [exec.let] (let_stopped).
func LetStopped[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func() S2,
) LetStoppedSender[T, O1, O2, P1, P2, S1, S2] {
	return LetStoppedSender[T, O1, O2, P1, P2, S1, S2]{s, f}
}

// LetStoppedSender is what LetStopped returns.
type LetStoppedSender[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func() S2
}

// LetStoppedOp is the operation state of LetStopped.
type LetStoppedOp[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] struct {
	first  O1
	second O2
	f      func() S2
	r      Receiver[T]
}

// Connect implements Sender.
func (s LetStoppedSender[T, O1, O2, P1, P2, S1, S2]) Connect(op *LetStoppedOp[T, O1, O2, P1, P2, S2], r Receiver[T]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.first, (*letStoppedReceiver[T, O1, O2, P1, P2, S2])(op))
}

// Completion implements Completer.
func (s *LetStoppedSender[T, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.s), completionOfType[S2]())
}

// Start implements Operation.
func (op *LetStoppedOp[T, O1, O2, P1, P2, S2]) Start() { P1(&op.first).Start() }

type letStoppedReceiver[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] LetStoppedOp[T, O1, O2, P1, P2, S2]

func (op *letStoppedReceiver[T, O1, O2, P1, P2, S2]) SetStopped() {
	if err := protect(func() { op.f().Connect(&op.second, op.r) }); err != nil {
		op.r.SetError(err)
		return
	}
	P2(&op.second).Start()
}

func (op *letStoppedReceiver[T, O1, O2, P1, P2, S2]) SetValue(v T)       { op.r.SetValue(v) }
func (op *letStoppedReceiver[T, O1, O2, P1, P2, S2]) SetError(err error) { op.r.SetError(err) }
func (op *letStoppedReceiver[T, O1, O2, P1, P2, S2]) Env() Env           { return op.r.Env() }
