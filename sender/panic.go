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

// Error says what the function panicked with. The stack is not in it.
func (e *PanicError) Error() string { return fmt.Sprintf("sender: panic: %v", e.Value) }

// Unwrap is the value of the panic if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// newPanicError is to be called by the deferred function that recovered v.
func newPanicError(v any) *PanicError {
	return &PanicError{Value: v, Stack: stack.Stack()}
}

// call is f(a), or the error that f panicked.
func call[A, B any](f func(A) B, a A) (b B, err error) {
	returned := false
	defer func() {
		if returned { // spares a call of recover
			return
		}
		if v := recover(); v != nil { // not so after runtime.Goexit, which ends the thread
			err = newPanicError(v)
		}
	}()
	b = f(a)
	returned = true
	return b, nil
}
