package sender

import (
	"context"
	"errors"
	"fmt"
)

// Channel is one of the three completion channels of a [Receiver].
type Channel uint8

// The channels. OnNone is the zero Channel and stands for no completion.
const (
	OnNone Channel = iota
	OnValue
	OnError
	OnStopped
)

// Completion is a completion as a value. An algorithm that has to wait before it may call its receiver stores what
// its child completed with in a Completion, and calls [Completion.Deliver] later. The zero Completion is no
// completion.
type Completion[T any] struct {
	Channel Channel
	Value   T     // of OnValue
	Err     error // of OnError
}

// CompletionValue returns the completion SetValue(v).
func CompletionValue[T any](v T) Completion[T] { return Completion[T]{Channel: OnValue, Value: v} }

// CompletionError returns the completion SetError(err). It panics if err is nil, because a nil error looks like success
// to the code that receives it.
func CompletionError[T any](err error) Completion[T] {
	if err == nil {
		panic("sender: an operation called SetError(nil): an error must say what failed; use SetValue for success")
	}
	return Completion[T]{Channel: OnError, Err: err}
}

// CompletionStopped returns the completion SetStopped().
func CompletionStopped[T any]() Completion[T] { return Completion[T]{Channel: OnStopped} }

// Deliver calls the method of r that x stands for. Completion is passed by value: the operation state that stored it
// may be reused while Deliver runs. It panics if x is no completion.
func (x Completion[T]) Deliver(r Receiver[T]) {
	switch x.Channel {
	case OnValue:
		r.SetValue(x.Value)
	case OnError:
		r.SetError(x.Err)
	case OnStopped:
		r.SetStopped()
	default:
		panic("sender: Deliver of the zero Completion: the operation has not completed yet")
	}
}

// Get returns the completion as a Go function does: the value, the error, or [ErrStopped]. It panics if x is no
// completion.
func (x Completion[T]) Get() (T, error) {
	switch x.Channel {
	case OnValue:
		return x.Value, nil
	case OnError:
		return x.Value, x.Err
	case OnStopped:
		return x.Value, ErrStopped
	default:
		panic("sender: Get of the zero Completion: the operation has not completed yet")
	}
}

// String returns "value 1", "error EOF", "stopped" or "none", for example.
func (x Completion[T]) String() string {
	switch x.Channel {
	case OnValue:
		return fmt.Sprintf("value %v", x.Value)
	case OnError:
		return fmt.Sprintf("error %v", x.Err)
	case OnStopped:
		return "stopped"
	default:
		return "none"
	}
}

// Complete completes r with what a Go function returned:
//
//   - err is nil: SetValue(v)
//   - err is [ErrStopped] or wraps it: SetStopped
//   - err is context.Canceled or wraps it, and r's stop token has been requested to stop: SetStopped. A function
//     that gets its context from [ToContext] returns this error when it is cancelled.
//   - otherwise: SetError(err)
func Complete[T any](r Receiver[T], v T, err error) {
	switch {
	case err == nil:
		r.SetValue(v)
	case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled) && causedByStop(r.Env().StopToken(), err):
		r.SetStopped()
	default:
		r.SetError(err)
	}
}

// CompleteAbandoned completes r after a resource has called [Runner].Abandon with reason: stopped if reason is nil,
// is [ErrStopped] or wraps it, otherwise with the error reason. So algorithms that handle errors also handle a
// refusal.
//
// Source: P1525R1 §1.2.6, where a scheduler that cannot do its work calls set_error with the reason.
func CompleteAbandoned[T any](r Receiver[T], reason error) {
	if reason == nil {
		reason = ErrStopped
	}
	var zero T
	Complete(r, zero, reason)
}
