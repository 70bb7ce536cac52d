package sender

// LetStopped goes on with the sender f() when s completes stopped, and passes on the rest. Its storage
// holds both operations. It completes where f() does, or where s does if that is not stopped. If s was
// stopped by a stop request, the sender f() sees that request too: Unstoppable shields it. Nothing is
// allocated.
//
// Source: P2300R10 [exec.let] (let_stopped).
func LetStopped[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func() S2,
) LetStoppedSender[T, O1, O2, S1, S2] {
	return LetStoppedSender[T, O1, O2, S1, S2]{s, f}
}

// LetStoppedSender is what LetStopped returns.
type LetStoppedSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func() S2
}

// LetStoppedOp is the operation state of LetStopped.
type LetStoppedOp[T, O1, O2 any] struct {
	first  O1
	second O2
	f      continuation[struct{}, T, O2]
	r      Receiver[T]
}

// Connect implements Sender.
func (s LetStoppedSender[T, O1, O2, S1, S2]) Connect(op *LetStoppedOp[T, O1, O2], r Receiver[T]) Operation {
	op.f, op.r = thunk[T, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letStoppedReceiver[T, O1, O2])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *LetStoppedSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionOfType[S2]())
}

type letStoppedReceiver[T, O1, O2 any] LetStoppedOp[T, O1, O2]

func (op *letStoppedReceiver[T, O1, O2]) SetStopped() {
	var second Operation
	if protect(func() { second = op.f.connect(struct{}{}, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letStoppedReceiver[T, O1, O2]) SetValue(v T)       { op.r.SetValue(v) }
func (op *letStoppedReceiver[T, O1, O2]) SetError(err error) { op.r.SetError(err) }
func (op *letStoppedReceiver[T, O1, O2]) Env() Env           { return op.r.Env() }
