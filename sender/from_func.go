package sender

import (
	"context"
	"errors"
)

// FromFunc calls f inside Start and completes with what it returns, as Complete does. If f panics it completes with a
// *PanicError, and if it calls runtime.Goexit with ErrGoexit. f runs on the thread that
// calls Start, so it should not block; StartsOn takes it elsewhere. Nothing is allocated.
func FromFunc[T any](f func() (T, error)) FromFuncSender[T] { return FromFuncSender[T]{f} }

// FromFuncSender is what FromFunc returns.
type FromFuncSender[T any] struct{ f func() (T, error) }

// FromFuncOp is the operation state of FromFunc.
type FromFuncOp[T any] struct {
	f func() (T, error)
	r Receiver[T]
}

// Connect implements Sender.
func (s FromFuncSender[T]) Connect(op *FromFuncOp[T], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *FromFuncSender[T]) CompletionBehavior() CompletionBehavior { return Inline }

// Start implements Operation.
func (op *FromFuncOp[T]) Start() {
	var v T
	var err error
	if protect(func() { v, err = op.f() }, op.r.SetError) {
		Complete(op.r, v, err)
	}
}

// Complete completes r as a Go function that returned v and err: with v if there is no error; stopped if that is
// ErrStopped or wraps it, or if it is context.Canceled or wraps it and stop was requested, since that is what a
// function returns that heeds its context (see ToContext); else with the error.
func Complete[T any](r Receiver[T], v T, err error) {
	switch {
	case err == nil:
		r.SetValue(v)
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled) && heeds(r.Env().StopToken(), err):
		r.SetStopped()
	default:
		r.SetError(err)
	}
}
