package sender

// channel is which of the three completions a result is for.
type channel uint8

const (
	onStopped channel = iota
	onValue
	onError
)

// result keeps a completion for later. The zero result is stopped.
type result[T any] struct {
	channel channel
	value   T
	err     error
}

func valueOf[T any](v T) result[T] { return result[T]{channel: onValue, value: v} }

// errorOf panics if err is nil: whoever got that as an error would take it for success.
func errorOf[T any](err error) result[T] {
	if err == nil {
		panic("sender: SetError(nil) was called by an operation that failed: an error says why; use SetValue for success")
	}
	return result[T]{channel: onError, err: err}
}

// deliver completes r. x is a copy, since the operation that kept it may be gone by then.
func (x result[T]) deliver(r Receiver[T]) {
	switch x.channel {
	case onValue:
		r.SetValue(x.value)
	case onError:
		r.SetError(x.err)
	default:
		r.SetStopped()
	}
}

// get is the completion as a Go function returns it.
func (x result[T]) get() (T, error) {
	switch x.channel {
	case onValue:
		return x.value, nil
	case onError:
		return x.value, x.err
	default:
		return x.value, ErrStopped
	}
}
