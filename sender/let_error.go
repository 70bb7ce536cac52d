package sender

// LetError goes on with the sender f(err) when s completes with the error err, and passes on the rest.
// Its storage holds both operations. It completes where f(err) does, or where s does if that does not
// fail. A stop request is the affair of whichever is running; nothing is allocated.
//
// Source: P2300R10 [exec.let] (let_error).
func LetError[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func(error) S2,
) LetErrorSender[T, O1, O2, P1, P2, S1, S2] {
	return LetErrorSender[T, O1, O2, P1, P2, S1, S2]{s, f}
}

// LetErrorSender is what LetError returns.
type LetErrorSender[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func(error) S2
}

// LetErrorOp is the operation state of LetError.
type LetErrorOp[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] struct {
	first  O1
	second O2
	f      func(error) S2
	r      Receiver[T]
}

// Connect implements Sender.
func (s LetErrorSender[T, O1, O2, P1, P2, S1, S2]) Connect(op *LetErrorOp[T, O1, O2, P1, P2, S2], r Receiver[T]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.first, (*letErrorReceiver[T, O1, O2, P1, P2, S2])(op))
}

// Completion implements Completer.
func (s *LetErrorSender[T, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.s), completionOfType[S2]())
}

// Start implements Operation.
func (op *LetErrorOp[T, O1, O2, P1, P2, S2]) Start() { P1(&op.first).Start() }

type letErrorReceiver[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S2 Sender[T, O2]] LetErrorOp[T, O1, O2, P1, P2, S2]

func (op *letErrorReceiver[T, O1, O2, P1, P2, S2]) SetError(err error) {
	if err := protect(func() { op.f(err).Connect(&op.second, op.r) }); err != nil {
		op.r.SetError(err)
		return
	}
	P2(&op.second).Start()
}

func (op *letErrorReceiver[T, O1, O2, P1, P2, S2]) SetValue(v T) { op.r.SetValue(v) }
func (op *letErrorReceiver[T, O1, O2, P1, P2, S2]) SetStopped()  { op.r.SetStopped() }
func (op *letErrorReceiver[T, O1, O2, P1, P2, S2]) Env() Env     { return op.r.Env() }
