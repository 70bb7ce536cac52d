package sender

import "github.com/reactord/reactord/sender/stop"

// Unstoppable returns s in an environment without a stop token: a stop request does not reach s.
//
// Completion: as and where s completes.
//
// Source: P3284R4 (unstoppable).
func Unstoppable[T, O any, S Sender[T, O]](s S) UnstoppableSender[T, O, S] {
	return UnstoppableSender[T, O, S]{s}
}

// UnstoppableSender is the sender that [Unstoppable] returns.
type UnstoppableSender[T, O any, S Sender[T, O]] struct{ s S }

// UnstoppableOp is the operation state of [UnstoppableSender].
type UnstoppableOp[T, O any] struct {
	child O
	env   unstoppableEnv[T]
}

// Connect implements [Sender].
func (s UnstoppableSender[T, O, S]) Connect(op *UnstoppableOp[T, O], r Receiver[T]) Operation {
	op.env.Receiver = r
	return s.s.Connect(&op.child, &op.env)
}

// CompletionBehavior implements [CompletionDescriber].
func (s *UnstoppableSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// unstoppableEnv is a receiver with another environment. It is this environment itself.
type unstoppableEnv[T any] struct{ Receiver[T] }

func (e *unstoppableEnv[T]) SetPartial(v T, err error) { SetPartial(e.Receiver, v, err) }
func (e *unstoppableEnv[T]) Env() Env                  { return e }
func (e *unstoppableEnv[T]) StopToken() stop.Token     { return stop.Token{} }
func (e *unstoppableEnv[T]) Scheduler() Scheduler      { return e.Receiver.Env().Scheduler() }
func (e *unstoppableEnv[T]) Value(key any) any         { return e.Receiver.Env().Value(key) }
