package sender

// Optional is a value, or that there is none.
type Optional[T any] struct {
	Value T
	OK    bool // there is one
}

// IntoOptional makes being stopped a value: it completes with v and true when s completes with v,
// with the zero value and false when s is stopped, and passes on an error. It completes where s does.
// A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.stopped.opt] (stopped_as_optional), P3552R3 §4.5 (into_optional).
func IntoOptional[T, O any, S Sender[T, O]](s S) IntoOptionalSender[T, O, S] {
	return IntoOptionalSender[T, O, S]{s}
}

// IntoOptionalSender is what IntoOptional returns.
type IntoOptionalSender[T, O any, S Sender[T, O]] struct{ s S }

// IntoOptionalOp is the operation state of IntoOptional.
type IntoOptionalOp[T, O any] struct {
	child O
	r     Receiver[Optional[T]]
}

// Connect implements Sender.
func (s IntoOptionalSender[T, O, S]) Connect(op *IntoOptionalOp[T, O], r Receiver[Optional[T]]) Operation {
	op.r = r
	return s.s.Connect(&op.child, (*intoOptionalReceiver[T, O])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *IntoOptionalSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type intoOptionalReceiver[T, O any] IntoOptionalOp[T, O]

func (op *intoOptionalReceiver[T, O]) SetValue(v T)       { op.r.SetValue(Optional[T]{v, true}) }
func (op *intoOptionalReceiver[T, O]) SetError(err error) { op.r.SetError(err) }
func (op *intoOptionalReceiver[T, O]) SetStopped()        { op.r.SetValue(Optional[T]{}) }
func (op *intoOptionalReceiver[T, O]) Env() Env           { return op.r.Env() }
