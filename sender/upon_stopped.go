package sender

// UponStopped completes with f() when s completes stopped, and passes on the rest. It completes where
// s does. A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.then] (upon_stopped).
func UponStopped[T, O any, P Operation[O], S Sender[T, O]](s S, f func() T) UponStoppedSender[T, O, P, S] {
	return UponStoppedSender[T, O, P, S]{s, f}
}

// UponStoppedSender is what UponStopped returns.
type UponStoppedSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s S
	f func() T
}

// UponStoppedOp is the operation state of UponStopped.
type UponStoppedOp[T, O any, P Operation[O]] struct {
	child O
	f     func() T
	r     Receiver[T]
}

// Connect implements Sender.
func (s UponStoppedSender[T, O, P, S]) Connect(op *UponStoppedOp[T, O, P], r Receiver[T]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.child, (*uponStoppedReceiver[T, O, P])(op))
}

// Completion implements Completer.
func (s *UponStoppedSender[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *UponStoppedOp[T, O, P]) Start() { P(&op.child).Start() }

type uponStoppedReceiver[T, O any, P Operation[O]] UponStoppedOp[T, O, P]

func (op *uponStoppedReceiver[T, O, P]) SetStopped() {
	var v T
	if err := protect(func() { v = op.f() }); err != nil {
		op.r.SetError(err)
		return
	}
	op.r.SetValue(v)
}

func (op *uponStoppedReceiver[T, O, P]) SetValue(v T)       { op.r.SetValue(v) }
func (op *uponStoppedReceiver[T, O, P]) SetError(err error) { op.r.SetError(err) }
func (op *uponStoppedReceiver[T, O, P]) Env() Env           { return op.r.Env() }
