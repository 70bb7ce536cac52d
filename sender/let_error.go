package sender

// LetError goes on with the sender f(err) when s completes with the error err, and passes on the rest.
// Its storage holds both operations. It completes where f(err) does, or where s does if that does not
// fail. A stop request is the affair of whichever is running; nothing is allocated.
//
// Source: P2300R10 [exec.let] (let_error).
func LetError[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func(error) S2,
) LetErrorSender[T, O1, O2, S1, S2] {
	return LetErrorSender[T, O1, O2, S1, S2]{s, f}
}

// LetErrorSender is what LetError returns.
type LetErrorSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func(error) S2
}

// LetErrorOp is the operation state of LetError.
type LetErrorOp[T, O1, O2 any] struct {
	first  O1
	second O2
	f      continuation[error, T, O2]
	r      Receiver[T]
}

// Connect implements Sender.
func (s LetErrorSender[T, O1, O2, S1, S2]) Connect(op *LetErrorOp[T, O1, O2], r Receiver[T]) Operation {
	op.f, op.r = function[error, T, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letErrorReceiver[T, O1, O2])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *LetErrorSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionOfType[S2]())
}

type letErrorReceiver[T, O1, O2 any] LetErrorOp[T, O1, O2]

func (op *letErrorReceiver[T, O1, O2]) SetError(err error) {
	var second Operation
	if protect(func() { second = op.f.connect(err, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letErrorReceiver[T, O1, O2]) SetValue(v T) { op.r.SetValue(v) }
func (op *letErrorReceiver[T, O1, O2]) SetStopped()  { op.r.SetStopped() }
func (op *letErrorReceiver[T, O1, O2]) Env() Env     { return op.r.Env() }
