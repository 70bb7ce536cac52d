package sendertest

import "github.com/reactord/reactord/sender"

// Result is how an operation completed: a [sender.Completion]. The zero Result is no completion.
type Result[T any] = sender.Completion[T]

// Channel is the completion channel of a [Result].
type Channel = sender.Channel

// The channels. None is the channel of an operation that has not completed.
const (
	None      = sender.OnNone
	OnValue   = sender.OnValue
	OnError   = sender.OnError
	OnStopped = sender.OnStopped
)

// Value returns the completion SetValue(v).
func Value[T any](v T) Result[T] { return sender.CompletionValue(v) }

// Error returns the completion SetError(err). Other than [sender.CompletionError] it accepts a nil error, for tests of
// what a nil error does.
func Error[T any](err error) Result[T] { return Result[T]{Channel: OnError, Err: err} }

// Stopped returns the completion SetStopped().
func Stopped[T any]() Result[T] { return sender.CompletionStopped[T]() }
