package sender

// UponError returns a sender that calls f with the error of s and completes with the value that f returns.
//
// Completion: where s completes. Values and stopped are forwarded unchanged. A panic of f completes it with a
// [*PanicError].
//
// Cancellation: by s.
//
// Source: P2300R10 [exec.then] (upon_error).
func UponError[T, O any, S Sender[T, O]](s S, f func(error) T) UponErrorSender[T, O, S] {
	return UponErrorSender[T, O, S]{s, f}
}

// UponErrorSender is the sender that [UponError] returns.
type UponErrorSender[T, O any, S Sender[T, O]] struct {
	s S
	f func(error) T
}

// UponErrorOp is the operation state of [UponErrorSender].
type UponErrorOp[T, O any] struct {
	child O
	f     func(error) T
	r     Receiver[T]
}

// Connect implements [Sender].
func (s UponErrorSender[T, O, S]) Connect(op *UponErrorOp[T, O], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return s.s.Connect(&op.child, (*uponErrorReceiver[T, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
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

// UponStopped returns a sender that calls f when s completes stopped, and completes with the value that f returns.
//
// Completion: where s completes. Values and errors are forwarded unchanged. A panic of f completes it with a
// [*PanicError].
//
// Cancellation: by s.
//
// Source: P2300R10 [exec.then] (upon_stopped).
func UponStopped[T, O any, S Sender[T, O]](s S, f func() T) UponStoppedSender[T, O, S] {
	return UponStoppedSender[T, O, S]{s, f}
}

// UponStoppedSender is the sender that [UponStopped] returns.
type UponStoppedSender[T, O any, S Sender[T, O]] struct {
	s S
	f func() T
}

// UponStoppedOp is the operation state of [UponStoppedSender].
type UponStoppedOp[T, O any] struct {
	child O
	f     func() T
	r     Receiver[T]
}

// Connect implements [Sender].
func (s UponStoppedSender[T, O, S]) Connect(op *UponStoppedOp[T, O], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return s.s.Connect(&op.child, (*uponStoppedReceiver[T, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
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
