package sender

import (
	"errors"
	"fmt"
	stack "runtime/debug"
)

// PanicError is the error of an algorithm whose user's function panicked. If the value of the panic is an error,
// errors.Is and errors.As find it and the errors that it wraps, except for [ErrStopped], because a panic is not a
// stop.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // the stack of the goroutine that panicked, as debug.Stack has it
}

// NewPanicError returns the error for v, which the calling deferred function has recovered. Its stack is the caller's,
// which still has the frames that panicked.
func NewPanicError(v any) *PanicError {
	return &PanicError{Value: v, Stack: stack.Stack()}
}

// Error returns what the function panicked with, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("sender: panic: %v", e.Value) }

// Is reports whether the value of the panic is an error that matches target. It never matches ErrStopped.
func (e *PanicError) Is(target error) bool {
	err, ok := e.Value.(error)
	return ok && target != ErrStopped && errors.Is(err, target)
}

// As finds the first error that matches target in the value of the panic, if that is an error.
func (e *PanicError) As(target any) bool {
	err, ok := e.Value.(error)
	return ok && errors.As(err, target)
}

// ErrGoexit is the error of an algorithm whose user's function called runtime.Goexit, as testing's FailNow does.
var ErrGoexit = errors.New("sender: the function called runtime.Goexit")
