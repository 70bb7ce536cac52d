package seq

import (
	"errors"

	"github.com/reactord/reactord/sender"
)

// outcome is how a sequence ended. The zero outcome is with the value.
type outcome struct {
	end end
	err error
}

type end uint8

const (
	complete end = iota
	failed
	stopped
)

// outcomeOf is that of a function of the user's which returned err.
func outcomeOf(err error) outcome {
	if errors.Is(err, sender.ErrStopped) {
		return outcome{end: stopped}
	}
	return outcome{failed, err}
}

// deliver completes r, with v if the sequence came to its end.
func deliver[V any](x outcome, r sender.Receiver[V], v V) {
	switch x.end {
	case complete:
		r.SetValue(v)
	case failed:
		r.SetError(x.err)
	default:
		r.SetStopped()
	}
}

// catch makes a panic of the function that defers it an error.
func catch(returned *bool, err *error) {
	if *returned {
		return
	}
	if v := recover(); v != nil { // not so after runtime.Goexit, which ends the thread
		*err = sender.NewPanicError(v)
	}
}

// call is f(a), or the error that f panicked.
func call[A, B any](f func(A) B, a A) (b B, err error) {
	returned := false
	defer catch(&returned, &err)
	b = f(a)
	returned = true
	return b, nil
}

// dispose lets go of an item that nobody wants.
func dispose[T any](drop func(T), item T) {
	if drop != nil {
		drop(item)
	}
}
