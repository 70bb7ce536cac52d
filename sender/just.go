package sender

// Just returns a sender that completes with v, inside Start.
//
// Cancellation: stop requests are ignored.
//
// Source: P2300R10 [exec.just].
func Just[T any](v T) JustSender[T] { return JustSender[T]{v} }

// JustSender is the sender that [Just] returns.
type JustSender[T any] struct{ value T }

// JustOp is the operation state of [JustSender].
type JustOp[T any] struct {
	value T
	r     Receiver[T]
}

// Connect implements [Sender].
func (s JustSender[T]) Connect(op *JustOp[T], r Receiver[T]) Operation {
	op.value, op.r = s.value, r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *JustSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements [Operation].
func (op *JustOp[T]) Start() { op.r.SetValue(op.value) }

// JustError returns a sender that completes with the error err, inside Start. T is the type of the value that it
// never delivers. JustError panics if err is nil.
//
// Cancellation: stop requests are ignored.
//
// Source: P2300R10 [exec.just].
func JustError[T any](err error) JustErrorSender[T] {
	if err == nil {
		panic("sender: JustError(nil): that is not an error; use Just for a value")
	}
	return JustErrorSender[T]{err}
}

// JustErrorSender is the sender that [JustError] returns.
type JustErrorSender[T any] struct{ err error }

// JustErrorOp is the operation state of [JustErrorSender].
type JustErrorOp[T any] struct {
	err error
	r   Receiver[T]
}

// Connect implements [Sender].
func (s JustErrorSender[T]) Connect(op *JustErrorOp[T], r Receiver[T]) Operation {
	op.err, op.r = s.err, r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *JustErrorSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements [Operation].
func (op *JustErrorOp[T]) Start() { op.r.SetError(op.err) }

// JustStopped returns a sender that completes stopped, inside Start. T is the type of the value that it never
// delivers.
//
// Source: P2300R10 [exec.just].
func JustStopped[T any]() JustStoppedSender[T] { return JustStoppedSender[T]{} }

// JustStoppedSender is the sender that [JustStopped] returns.
type JustStoppedSender[T any] struct{}

// JustStoppedOp is the operation state of [JustStoppedSender].
type JustStoppedOp[T any] struct{ r Receiver[T] }

// Connect implements [Sender].
func (JustStoppedSender[T]) Connect(op *JustStoppedOp[T], r Receiver[T]) Operation {
	op.r = r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *JustStoppedSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements [Operation].
func (op *JustStoppedOp[T]) Start() { op.r.SetStopped() }
