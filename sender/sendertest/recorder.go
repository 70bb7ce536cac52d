package sendertest

import (
	"sync/atomic"
	"testing"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// Recorder is a receiver that stores its completion. It reports a completion before Starting was called, a second
// completion, and a query of its environment after the completion. Its environment has Stop's token.
type Recorder[T any] struct {
	T    testing.TB
	Stop *stop.Source // nil: never
	Sch  sender.Scheduler
	Key  any // Value(Key) is Key
	// Then is called inside the completion. It may be nil.
	Then func(x Result[T])

	started atomic.Bool
	called  atomic.Int32
	result  Result[T]
}

// Starting must be called before Start, and before each further Start.
func (r *Recorder[T]) Starting() {
	r.result = Result[T]{}
	r.called.Store(0)
	r.started.Store(true)
}

// Completed reports whether a completion was called.
func (r *Recorder[T]) Completed() bool { return r.called.Load() > 0 }

// Result returns the completion; its Channel is None before the completion. It must not be called while another thread
// may complete the operation.
func (r *Recorder[T]) Result() Result[T] { return r.result }

func (r *Recorder[T]) base() *Recorder[T] { return r }
func (r *Recorder[T]) seen() string       { return r.result.String() }

func (r *Recorder[T]) complete(x Result[T]) {
	if !r.started.Load() {
		r.T.Errorf("completed with %v before Start", x)
	}
	if n := r.called.Add(1); n > 1 {
		r.T.Errorf("completion %d of one Start: %v", n, x)
		return
	}
	r.result = x
	if r.Then != nil {
		r.Then(x)
	}
}

// SetValue implements [sender.Receiver].
func (r *Recorder[T]) SetValue(v T) { r.complete(Value(v)) }

// SetError implements [sender.Receiver].
func (r *Recorder[T]) SetError(err error) {
	if err == nil {
		r.T.Errorf("SetError(nil)")
	}
	r.complete(Error[T](err))
}

// SetStopped implements [sender.Receiver].
func (r *Recorder[T]) SetStopped() { r.complete(Stopped[T]()) }

// Env implements [sender.Receiver].
func (r *Recorder[T]) Env() sender.Env {
	if r.Completed() {
		r.T.Errorf("Env was asked for after the completion")
	}
	return (*recorderEnv[T])(r)
}

type recorderEnv[T any] Recorder[T]

// asked reports a query after the completion.
func (e *recorderEnv[T]) asked(what string) {
	if (*Recorder[T])(e).Completed() {
		e.T.Errorf("the environment was asked for its %s after the completion", what)
	}
}

func (e *recorderEnv[T]) StopToken() stop.Token {
	e.asked("stop token")
	if e.Stop == nil {
		return stop.Token{}
	}
	return e.Stop.Token()
}

func (e *recorderEnv[T]) Scheduler() sender.Scheduler {
	e.asked("scheduler")
	return e.Sch
}

func (e *recorderEnv[T]) Value(key any) any {
	e.asked("value of a key")
	if key == e.Key {
		return key
	}
	return nil
}
