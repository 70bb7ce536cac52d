package sender

// ReadEnv returns a sender that completes with what f reads from the receiver's environment, inside Start:
//
//	sender.ReadEnv(sender.Env.Scheduler)
//
// Completion: with the value of f; with a [*PanicError] if f panics.
//
// Cancellation: stop requests are ignored, unless f reads the stop token.
//
// Source: P2300R10 [exec.read.env].
func ReadEnv[T any](f func(Env) T) ReadEnvSender[T] { return ReadEnvSender[T]{f} }

// ReadEnvSender is the sender that [ReadEnv] returns.
type ReadEnvSender[T any] struct{ f func(Env) T }

// ReadEnvOp is the operation state of [ReadEnvSender].
type ReadEnvOp[T any] struct {
	f func(Env) T
	r Receiver[T]
}

// Connect implements [Sender].
func (s ReadEnvSender[T]) Connect(op *ReadEnvOp[T], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *ReadEnvSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements [Operation].
func (op *ReadEnvOp[T]) Start() {
	var v T
	if protect(func() { v = op.f(op.r.Env()) }, op.r.SetError) {
		op.r.SetValue(v)
	}
}
