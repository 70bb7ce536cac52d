package sender

// protect calls f and reports whether f returned. If f panics or calls runtime.Goexit, protect calls fail with the
// error, usually the receiver's SetError. After a Goexit no caller of protect continues, so fail must do all that
// remains to be done. Neither f nor fail escapes: function literals as arguments allocate nothing.
//
// It is for the code of users: their functions, and the Connect of a sender that a user's function made or that is
// connected while the operation runs. f never calls a receiver.
func protect(f func(), fail func(error)) (returned bool) {
	defer func() {
		if !returned { // saves the call of recover
			fail(failure(recover()))
		}
	}()
	f()
	return true
}

// failure returns the error of a function that did not return; v is the recovered value.
func failure(v any) error {
	if v == nil {
		return ErrGoexit
	}
	return NewPanicError(v)
}
