package sendertest

import (
	"fmt"

	"github.com/reactord/reactord/sender"
)

// Channel is which of the three completions was called.
type Channel uint8

// The channels. None is no completion at all.
const (
	None Channel = iota
	OnValue
	OnError
	OnStopped
)

// Result is a completion.
type Result[T any] struct {
	Channel Channel
	Value   T
	Err     error
}

// Value is the completion SetValue(v).
func Value[T any](v T) Result[T] { return Result[T]{Channel: OnValue, Value: v} }

// Error is the completion SetError(err).
func Error[T any](err error) Result[T] { return Result[T]{Channel: OnError, Err: err} }

// Stopped is the completion SetStopped().
func Stopped[T any]() Result[T] { return Result[T]{Channel: OnStopped} }

// String is such as "value 1", "error EOF", "stopped" or "none".
func (x Result[T]) String() string {
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

// deliver completes r.
func (x Result[T]) deliver(r sender.Receiver[T]) {
	switch x.Channel {
	case OnValue:
		r.SetValue(x.Value)
	case OnError:
		r.SetError(x.Err)
	case OnStopped:
		r.SetStopped()
	default:
		panic("sendertest: no result to deliver")
	}
}
