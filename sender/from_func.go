package sender

// FromFunc returns a sender that calls f inside Start and completes with what f returns, as [Complete] does. f runs
// on the thread that calls Start, so it should not block. [StartsOn] runs it on another resource, [Call] on a
// goroutine.
//
// Completion: with the result of f; with a [*PanicError] if f panics, and with [ErrGoexit] if f calls runtime.Goexit.
//
// Cancellation: stop requests are ignored.
func FromFunc[T any](f func() (T, error)) FromFuncSender[T] { return FromFuncSender[T]{f} }

// FromFuncSender is the sender that [FromFunc] returns.
type FromFuncSender[T any] struct{ f func() (T, error) }

// FromFuncOp is the operation state of [FromFuncSender].
type FromFuncOp[T any] struct {
	f func() (T, error)
	r Receiver[T]
}

// Connect implements [Sender].
func (s FromFuncSender[T]) Connect(op *FromFuncOp[T], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *FromFuncSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements [Operation].
func (op *FromFuncOp[T]) Start() {
	var v T
	var err error
	if protect(func() { v, err = op.f() }, op.r.SetError) {
		Complete(op.r, v, err)
	}
}
