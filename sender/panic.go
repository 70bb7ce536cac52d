package sender

import (
	"errors"
	"fmt"
	stack "runtime/debug"
)

// PanicError is the error that an algorithm completes with when the user's function panicked. If the value of
// the panic is an error, errors.Is and errors.As find what that wraps; but for ErrStopped, since a panic is not
// a stop.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // the stack of the goroutine that panicked, as debug.Stack has it
}

// NewPanicError is for a deferred function that has recovered v: the stack is the caller's, which
// still has the frames that panicked.
func NewPanicError(v any) *PanicError {
	return &PanicError{Value: v, Stack: stack.Stack()}
}

// Error says what the function panicked with. The stack is not in it.
func (e *PanicError) Error() string { return fmt.Sprintf("sender: panic: %v", e.Value) }

// Is tells whether the value of the panic is an error that is target. It is never ErrStopped.
func (e *PanicError) Is(target error) bool {
	err, ok := e.Value.(error)
	return ok && target != ErrStopped && errors.Is(err, target)
}

// As finds in the value of the panic, if it is an error, what errors.As is looking for.
func (e *PanicError) As(target any) bool {
	err, ok := e.Value.(error)
	return ok && errors.As(err, target)
}

// ErrGoexit is the error that an algorithm completes with when the user's function called runtime.Goexit, as
// testing's FailNow does.
var ErrGoexit = errors.New("sender: the function called runtime.Goexit")

// failure is what a function failed with that did not return: v is what was recovered.
func failure(v any) error {
	if v == nil {
		return ErrGoexit
	}
	return NewPanicError(v)
}

// protect runs f, and reports whether it returned. If not, it panicked or ended the goroutine by
// runtime.Goexit, and fail has been called with the error, which usually is the receiver's SetError. After a
// Goexit no caller gets any further: fail is to do all that is left to do. Neither f nor fail escapes, so that
// calling it with function literals allocates nothing.
//
// It is for what belongs to the user: functions, and the Connect of a sender that a function made or
// that is connected while the operation runs. A receiver is never called inside of f.
func protect(f func(), fail func(error)) (returned bool) {
	defer func() {
		if !returned { // spares a call of recover
			fail(failure(recover()))
		}
	}()
	f()
	return true
}
