package sender

// Result is what a Go function returns: a value, or an error.
type Result[T any] struct {
	Value T
	Err   error
}

// Get takes the result apart.
func (x Result[T]) Get() (T, error) { return x.Value, x.Err }

// IntoResult makes an error a value: it completes with the value or the error of s as a Result, and
// passes on being stopped. It completes where s does. A stop request is s's affair; nothing is
// allocated.
//
// Source: P3552R3 §4.6 (into_expected).
func IntoResult[T, O any, S Sender[T, O]](s S) IntoResultSender[T, O, S] {
	return IntoResultSender[T, O, S]{s}
}

// IntoResultSender is what IntoResult returns.
type IntoResultSender[T, O any, S Sender[T, O]] struct{ s S }

// IntoResultOp is the operation state of IntoResult.
type IntoResultOp[T, O any] struct {
	child O
	r     Receiver[Result[T]]
}

// Connect implements Sender.
func (s IntoResultSender[T, O, S]) Connect(op *IntoResultOp[T, O], r Receiver[Result[T]]) Operation {
	op.r = r
	return s.s.Connect(&op.child, (*intoResultReceiver[T, O])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *IntoResultSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type intoResultReceiver[T, O any] IntoResultOp[T, O]

func (op *intoResultReceiver[T, O]) SetValue(v T)       { op.r.SetValue(Result[T]{Value: v}) }
func (op *intoResultReceiver[T, O]) SetError(err error) { op.r.SetValue(Result[T]{Err: err}) }
func (op *intoResultReceiver[T, O]) SetStopped()        { op.r.SetStopped() }
func (op *intoResultReceiver[T, O]) Env() Env           { return op.r.Env() }
