package sender

import "github.com/reactord/reactord/sender/stop"

// WriteEnv returns s in an environment where env answers first: with its stop token if that can stop, its scheduler
// if that is not nil, and its values if they are not nil. The receiver's environment answers everything else.
//
// Completion: as and where s completes.
//
// Cancellation: a stop token of env replaces the receiver's: a stop request to the receiver's token then does not
// reach s.
//
// Source: P3284R4 (write_env).
func WriteEnv[T, O any, S Sender[T, O]](s S, env Env) WriteEnvSender[T, O, S] {
	return WriteEnvSender[T, O, S]{s, env}
}

// WriteEnvSender is the sender that [WriteEnv] returns.
type WriteEnvSender[T, O any, S Sender[T, O]] struct {
	s   S
	env Env
}

// WriteEnvOp is the operation state of [WriteEnvSender].
type WriteEnvOp[T, O any] struct {
	child O
	env   writtenEnv[T]
}

// Connect implements [Sender].
func (s WriteEnvSender[T, O, S]) Connect(op *WriteEnvOp[T, O], r Receiver[T]) Operation {
	op.env = writtenEnv[T]{r, s.env}
	return s.s.Connect(&op.child, &op.env)
}

// CompletionBehavior implements [CompletionDescriber].
func (s *WriteEnvSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// writtenEnv is a receiver with another environment. It is this environment itself.
type writtenEnv[T any] struct {
	Receiver[T]
	first Env
}

func (e *writtenEnv[T]) Env() Env { return e }

func (e *writtenEnv[T]) StopToken() stop.Token {
	if t := e.first.StopToken(); t.StopPossible() {
		return t
	}
	return e.Receiver.Env().StopToken()
}

func (e *writtenEnv[T]) Scheduler() Scheduler {
	if sch := e.first.Scheduler(); sch != nil {
		return sch
	}
	return e.Receiver.Env().Scheduler()
}

func (e *writtenEnv[T]) Value(key any) any {
	if v := e.first.Value(key); v != nil {
		return v
	}
	return e.Receiver.Env().Value(key)
}

// StopEnv is an environment that has only a stop token. See [WriteEnv].
type StopEnv struct {
	EmptyEnv
	Token stop.Token
}

// StopToken is e.Token.
func (e StopEnv) StopToken() stop.Token { return e.Token }

// SchedulerEnv is an environment that has only a scheduler. See [WriteEnv].
type SchedulerEnv struct {
	EmptyEnv
	Sch Scheduler
}

// Scheduler is e.Sch.
func (e SchedulerEnv) Scheduler() Scheduler { return e.Sch }

// ValueEnv is an environment that answers only one query. See [WriteEnv].
type ValueEnv struct {
	EmptyEnv
	Key, Val any
}

// Value is e.Val if key is e.Key.
func (e ValueEnv) Value(key any) any {
	if key == e.Key {
		return e.Val
	}
	return nil
}
