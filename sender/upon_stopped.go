package sender

// UponStopped completes with f() when s completes stopped, and passes on the rest. It completes where
// s does. A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.then] (upon_stopped).
func UponStopped[T, O any, S Sender[T, O]](s S, f func() T) UponStoppedSender[T, O, S] {
	return UponStoppedSender[T, O, S]{s, f}
}

// UponStoppedSender is what UponStopped returns.
type UponStoppedSender[T, O any, S Sender[T, O]] struct {
	s S
	f func() T
}

// UponStoppedOp is the operation state of UponStopped.
type UponStoppedOp[T, O any] struct {
	child O
	f     func() T
	r     Receiver[T]
}

// Connect implements Sender.
func (s UponStoppedSender[T, O, S]) Connect(op *UponStoppedOp[T, O], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return s.s.Connect(&op.child, (*uponStoppedReceiver[T, O])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *UponStoppedSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type uponStoppedReceiver[T, O any] UponStoppedOp[T, O]

func (op *uponStoppedReceiver[T, O]) SetStopped() {
	var v T
	if protect(func() { v = op.f() }, op.r.SetError) {
		op.r.SetValue(v)
	}
}

func (op *uponStoppedReceiver[T, O]) SetValue(v T)       { op.r.SetValue(v) }
func (op *uponStoppedReceiver[T, O]) SetError(err error) { op.r.SetError(err) }
func (op *uponStoppedReceiver[T, O]) Env() Env           { return op.r.Env() }
