package sender

// Optional is a value, or no value.
type Optional[T any] struct {
	Value T
	OK    bool // there is one
}

// IntoOptional returns a sender that turns stopped into a value: it completes with v and OK when s completes with v,
// and with the zero [Optional] when s completes stopped.
//
// Completion: where s completes. An error is forwarded unchanged.
//
// Cancellation: by s.
//
// Source: P2300R10 [exec.stopped.opt] (stopped_as_optional), P3552R3 §4.5 (into_optional).
func IntoOptional[T, O any, S Sender[T, O]](s S) IntoOptionalSender[T, O, S] {
	return IntoOptionalSender[T, O, S]{s}
}

// IntoOptionalSender is the sender that [IntoOptional] returns.
type IntoOptionalSender[T, O any, S Sender[T, O]] struct{ s S }

// IntoOptionalOp is the operation state of [IntoOptionalSender].
type IntoOptionalOp[T, O any] struct {
	child O
	r     Receiver[Optional[T]]
}

// Connect implements [Sender].
func (s IntoOptionalSender[T, O, S]) Connect(op *IntoOptionalOp[T, O], r Receiver[Optional[T]]) Operation {
	op.r = r
	return s.s.Connect(&op.child, (*intoOptionalReceiver[T, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *IntoOptionalSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type intoOptionalReceiver[T, O any] IntoOptionalOp[T, O]

func (op *intoOptionalReceiver[T, O]) SetValue(v T)       { op.r.SetValue(Optional[T]{v, true}) }
func (op *intoOptionalReceiver[T, O]) SetError(err error) { op.r.SetError(err) }
func (op *intoOptionalReceiver[T, O]) SetStopped()        { op.r.SetValue(Optional[T]{}) }
func (op *intoOptionalReceiver[T, O]) Env() Env           { return op.r.Env() }

// Result is the result of a Go function: a value, or an error.
type Result[T any] struct {
	Value T
	Err   error
}

// Get returns the value and the error.
func (x Result[T]) Get() (T, error) { return x.Value, x.Err }

// IntoResult returns a sender that turns errors into values: it completes with the value or the error of s as a
// [Result].
//
// Completion: where s completes. Stopped is forwarded unchanged.
//
// Cancellation: by s.
//
// Source: P3552R3 §4.6 (into_expected).
func IntoResult[T, O any, S Sender[T, O]](s S) IntoResultSender[T, O, S] {
	return IntoResultSender[T, O, S]{s}
}

// IntoResultSender is the sender that [IntoResult] returns.
type IntoResultSender[T, O any, S Sender[T, O]] struct{ s S }

// IntoResultOp is the operation state of [IntoResultSender].
type IntoResultOp[T, O any] struct {
	child O
	r     Receiver[Result[T]]
}

// Connect implements [Sender].
func (s IntoResultSender[T, O, S]) Connect(op *IntoResultOp[T, O], r Receiver[Result[T]]) Operation {
	op.r = r
	return s.s.Connect(&op.child, (*intoResultReceiver[T, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *IntoResultSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type intoResultReceiver[T, O any] IntoResultOp[T, O]

func (op *intoResultReceiver[T, O]) SetValue(v T)       { op.r.SetValue(Result[T]{Value: v}) }
func (op *intoResultReceiver[T, O]) SetError(err error) { op.r.SetValue(Result[T]{Err: err}) }
func (op *intoResultReceiver[T, O]) SetStopped()        { op.r.SetStopped() }
func (op *intoResultReceiver[T, O]) Env() Env           { return op.r.Env() }
