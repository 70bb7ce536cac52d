package sender

// UponError completes with f(err) when s completes with the error err, and passes on the rest. It
// completes where s does. A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.then] (upon_error).
func UponError[T, O any, P Operation[O], S Sender[T, O]](s S, f func(error) T) UponErrorSender[T, O, P, S] {
	return UponErrorSender[T, O, P, S]{s, f}
}

// UponErrorSender is what UponError returns.
type UponErrorSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s S
	f func(error) T
}

// UponErrorOp is the operation state of UponError.
type UponErrorOp[T, O any, P Operation[O]] struct {
	child O
	f     func(error) T
	r     Receiver[T]
}

// Connect implements Sender.
func (s UponErrorSender[T, O, P, S]) Connect(op *UponErrorOp[T, O, P], r Receiver[T]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.child, (*uponErrorReceiver[T, O, P])(op))
}

// Completion implements Completer.
func (s *UponErrorSender[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *UponErrorOp[T, O, P]) Start() { P(&op.child).Start() }

type uponErrorReceiver[T, O any, P Operation[O]] UponErrorOp[T, O, P]

func (op *uponErrorReceiver[T, O, P]) SetError(err error) {
	var v T
	if err := protect(func() { v = op.f(err) }); err != nil {
		op.r.SetError(err)
		return
	}
	op.r.SetValue(v)
}

func (op *uponErrorReceiver[T, O, P]) SetValue(v T) { op.r.SetValue(v) }
func (op *uponErrorReceiver[T, O, P]) SetStopped()  { op.r.SetStopped() }
func (op *uponErrorReceiver[T, O, P]) Env() Env     { return op.r.Env() }
