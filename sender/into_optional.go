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
func IntoOptional[T, O any, P Operation[O], S Sender[T, O]](s S) IntoOptionalSender[T, O, P, S] {
	return IntoOptionalSender[T, O, P, S]{s}
}

// IntoOptionalSender is what IntoOptional returns.
type IntoOptionalSender[T, O any, P Operation[O], S Sender[T, O]] struct{ s S }

// IntoOptionalOp is the operation state of IntoOptional.
type IntoOptionalOp[T, O any, P Operation[O]] struct {
	child O
	r     Receiver[Optional[T]]
}

// Connect implements Sender.
func (s IntoOptionalSender[T, O, P, S]) Connect(op *IntoOptionalOp[T, O, P], r Receiver[Optional[T]]) {
	op.r = r
	s.s.Connect(&op.child, (*intoOptionalReceiver[T, O, P])(op))
}

// Completion implements Completer.
func (s *IntoOptionalSender[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *IntoOptionalOp[T, O, P]) Start() { P(&op.child).Start() }

type intoOptionalReceiver[T, O any, P Operation[O]] IntoOptionalOp[T, O, P]

func (op *intoOptionalReceiver[T, O, P]) SetValue(v T)       { op.r.SetValue(Optional[T]{v, true}) }
func (op *intoOptionalReceiver[T, O, P]) SetError(err error) { op.r.SetError(err) }
func (op *intoOptionalReceiver[T, O, P]) SetStopped()        { op.r.SetValue(Optional[T]{}) }
func (op *intoOptionalReceiver[T, O, P]) Env() Env           { return op.r.Env() }
