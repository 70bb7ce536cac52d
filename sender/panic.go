package sender

import (
	"fmt"
	stack "runtime/debug"
)

// PanicError is the error that an algorithm completes with when the user's function panicked. It
// unwraps to the value of the panic if that is an error.
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

// Unwrap is the value of the panic if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// protect runs f and returns the error that it panicked, or nil. f does not escape, so that calling
// it with a function literal allocates nothing.
//
// It is for what belongs to the user: functions, and the Connect of a sender that a function made or
// that is connected while the operation runs. A receiver is never called inside of it.
func protect(f func()) (err error) {
	returned := false
	defer func() {
		if returned { // spares a call of recover
			return
		}
		if v := recover(); v != nil { // not so after runtime.Goexit, which ends the thread
			err = NewPanicError(v)
		}
	}()
	f()
	returned = true
	return nil
}
