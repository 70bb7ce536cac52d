package sender

import "errors"

// FromFunc calls f inside Start and completes with what it returns: a value, an error, or stopped if
// the error is ErrStopped. If f panics it completes with a *PanicError. f runs on the thread that
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
func (s FromFuncSender[T]) Connect(op *FromFuncOp[T], r Receiver[T]) { op.f, op.r = s.f, r }

// Completion implements Completer.
func (s *FromFuncSender[T]) Completion() Completion { return Inline }

// Start implements Operation.
func (op *FromFuncOp[T]) Start() {
	var v T
	var err error
	if p := protect(func() { v, err = op.f() }); p != nil {
		err = p
	}
	Complete(op.r, v, err)
}

// Complete completes r as a Go function that returned v and err: with the error if there is one, stopped if
// that is ErrStopped or wraps it, else with v.
func Complete[T any](r Receiver[T], v T, err error) {
	switch {
	case err == nil:
		r.SetValue(v)
	case errors.Is(err, ErrStopped):
		r.SetStopped()
	default:
		r.SetError(err)
	}
}
