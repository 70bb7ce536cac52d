package sender

import "github.com/reactord/reactord/sender/stop"

// WriteEnv returns s in an environment where env answers first: with its scheduler if that is not nil, and its values
// if they are not nil. The receiver's environment answers everything else.
//
// Completion: as and where s completes.
//
// Cancellation: s is requested to stop when stop is requested by the receiver, or by the stop token of env. So
// Timeout(WriteEnv(s, StopEnv{token}), timer) is stopped by both. [Unstoppable] keeps the receiver's requests away.
//
// Allocation: once for an operation state, if both of these tokens can stop.
//
// Source: P3284R4 (write_env). There a stop token of env replaces the receiver's, so that a timeout around it, or the
// scope that it runs in, could no longer stop it.
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
	start Operation // starts child
	child O
	env   writtenEnv[T]
}

// Connect implements [Sender].
func (s WriteEnvSender[T, O, S]) Connect(op *WriteEnvOp[T, O], r Receiver[T]) Operation {
	op.env.r, op.env.first, op.env.linked = r, s.env, false
	op.start = s.s.Connect(&op.child, &op.env)
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *WriteEnvSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// Start implements [Operation].
func (op *WriteEnvOp[T, O]) Start() {
	e := &op.env
	first, second := e.first.StopToken(), e.r.Env().StopToken()
	if e.linked = first.StopPossible() && second.StopPossible() && first != second; e.linked {
		if e.link == nil {
			e.link = newStopLink(e)
		}
		e.link.begin(first, second)
	}
	op.start.Start()
}

// writtenEnv is a receiver with another environment. It is this environment itself.
type writtenEnv[T any] struct {
	r      Receiver[T]
	first  Env
	link   *stopLink[T] // nil: none was needed yet
	linked bool         // the link is in use: both environments can stop
}

func (e *writtenEnv[T]) Env() Env { return e }

func (e *writtenEnv[T]) SetValue(v T) {
	if e.linked {
		e.link.finish(CompletionValue(v), nil)
	} else {
		e.r.SetValue(v)
	}
}

func (e *writtenEnv[T]) SetError(err error) {
	if e.linked {
		e.link.finish(CompletionError[T](err), nil)
	} else {
		e.r.SetError(err)
	}
}

func (e *writtenEnv[T]) SetStopped() {
	if e.linked {
		e.link.finish(CompletionStopped[T](), nil)
	} else {
		e.r.SetStopped()
	}
}

// SetPartial implements [PartialReceiver].
func (e *writtenEnv[T]) SetPartial(v T, err error) {
	if e.linked {
		e.link.finish(CompletionValue(v), err)
	} else {
		SetPartial(e.r, v, err)
	}
}

func (e *writtenEnv[T]) StopToken() stop.Token {
	if e.linked {
		return e.link.source.Token()
	}
	if t := e.first.StopToken(); t.StopPossible() {
		return t
	}
	return e.r.Env().StopToken()
}

func (e *writtenEnv[T]) Scheduler() Scheduler {
	if sch := e.first.Scheduler(); sch != nil {
		return sch
	}
	return e.r.Env().Scheduler()
}

func (e *writtenEnv[T]) Value(key any) any {
	if v := e.first.Value(key); v != nil {
		return v
	}
	return e.r.Env().Value(key)
}

// StopEnv is an environment that has only a stop token. See [WriteEnv].
type StopEnv struct {
	EmptyEnv
	Token stop.Token
}

// StopToken returns e.Token.
func (e StopEnv) StopToken() stop.Token { return e.Token }

// SchedulerEnv is an environment that has only a scheduler. See [WriteEnv].
type SchedulerEnv struct {
	EmptyEnv
	Sch Scheduler
}

// Scheduler returns e.Sch.
func (e SchedulerEnv) Scheduler() Scheduler { return e.Sch }

// ValueEnv is an environment that answers only one query. See [WriteEnv].
type ValueEnv struct {
	EmptyEnv
	Key, Val any
}

// Value returns e.Val if key is e.Key.
func (e ValueEnv) Value(key any) any {
	if key == e.Key {
		return e.Val
	}
	return nil
}
