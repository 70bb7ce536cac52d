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

// call is f(a). If f does not return, because it panics or calls runtime.Goexit, fail is called with the error;
// after a Goexit no caller gets any further.
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

// dispose lets go of an item that nobody wants.
func dispose[T any](drop func(T), item T) {
	if drop != nil {
		drop(item)
	}
}
