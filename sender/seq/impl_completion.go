package seq

import (
	"errors"

	"github.com/reactord/reactord/sender"
)

// completion is how a sequence completed.
type completion = sender.Completion[struct{}]

var (
	completed = sender.CompletionValue(struct{}{})
	stopped   = sender.CompletionStopped[struct{}]()
)

func failed(err error) completion { return completion{Channel: sender.OnError, Err: err} }

// completionOf returns the completion for an error that a user's function has returned.
func completionOf(err error) completion {
	if errors.Is(err, sender.ErrStopped) {
		return stopped
	}
	return failed(err)
}

// call returns f(a). If f does not return, because it panics or calls runtime.Goexit, fail is called with the error.
// After a Goexit the callers of call do not continue.
func call[A, B any](f func(A) B, a A, fail func(error)) (b B, returned bool) {
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			fail(sender.NewPanicError(v))
		} else {
			fail(sender.ErrGoexit)
		}
	}()
	return f(a), true
}

// dispose calls drop, if there is one, for an item that is not used.
func dispose[T any](drop func(T), item T) {
	if drop != nil {
		drop(item)
	}
}
