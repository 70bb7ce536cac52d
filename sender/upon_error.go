package sender

// UponError completes with f(err) when s completes with the error err, and passes on the rest. It
// completes where s does. A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.then] (upon_error).
func UponError[T, O any, S Sender[T, O]](s S, f func(error) T) UponErrorSender[T, O, S] {
	return UponErrorSender[T, O, S]{s, f}
}

// UponErrorSender is what UponError returns.
type UponErrorSender[T, O any, S Sender[T, O]] struct {
	s S
	f func(error) T
}

// UponErrorOp is the operation state of UponError.
type UponErrorOp[T, O any] struct {
	child O
	f     func(error) T
	r     Receiver[T]
}

// Connect implements Sender.
func (s UponErrorSender[T, O, S]) Connect(op *UponErrorOp[T, O], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return s.s.Connect(&op.child, (*uponErrorReceiver[T, O])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *UponErrorSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type uponErrorReceiver[T, O any] UponErrorOp[T, O]

func (op *uponErrorReceiver[T, O]) SetError(err error) {
	var v T
	if protect(func() { v = op.f(err) }, op.r.SetError) {
		op.r.SetValue(v)
	}
}

func (op *uponErrorReceiver[T, O]) SetValue(v T) { op.r.SetValue(v) }
func (op *uponErrorReceiver[T, O]) SetStopped()  { op.r.SetStopped() }
func (op *uponErrorReceiver[T, O]) Env() Env     { return op.r.Env() }
