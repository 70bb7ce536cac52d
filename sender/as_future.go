package sender

import (
	"context"

	"github.com/reactord/reactord/sender/stop"
)

// AsFuture starts s immediately, and returns the [Future] of its result. The environment of s has only the future's
// stop token.
//
// Cancellation: [Future.RequestStop].
//
// Allocation: the operation state together with the future, and a channel.
//
// Source: P1525R1 Appendix D (as_future).
func AsFuture[T, O any, S Sender[T, O]](s S) *Future[T] {
	x := new(futureState[T, O])
	x.done = make(chan struct{})
	s.Connect(&x.child, (*futureReceiver[T])(&x.Future)).Start()
	return &x.Future
}

// Future is the result of work that has been started. All methods may be called from any goroutine.
type Future[T any] struct {
	source stop.Source
	done   chan struct{}
	result Completion[T] // once done is closed
}

// futureState is the allocation of AsFuture.
type futureState[T, O any] struct {
	Future[T]
	child O
}

// Done returns a channel that is closed when there is a result.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Get waits for the result and returns the value, the error, or [ErrStopped] if the work was stopped. If ctx is done
// first, Get returns its cause; the work continues, and Get may be called again. Get blocks the goroutine: do not
// call it on a thread that the work needs, such as a loop's.
func (f *Future[T]) Get(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.result.Get()
	default:
	}
	select {
	case <-f.done:
		return f.result.Get()
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// RequestStop requests the work to stop. It does not wait.
func (f *Future[T]) RequestStop() { f.source.RequestStop() }

// futureReceiver is the work's receiver, and its environment.
type futureReceiver[T any] Future[T]

func (f *futureReceiver[T]) complete(x Completion[T]) {
	f.result = x
	close(f.done)
}

func (f *futureReceiver[T]) SetValue(v T)          { f.complete(CompletionValue(v)) }
func (f *futureReceiver[T]) SetError(err error)    { f.complete(CompletionError[T](err)) }
func (f *futureReceiver[T]) SetStopped()           { f.complete(CompletionStopped[T]()) }
func (f *futureReceiver[T]) Env() Env              { return f }
func (f *futureReceiver[T]) StopToken() stop.Token { return f.source.Token() }
func (f *futureReceiver[T]) Scheduler() Scheduler  { return nil }
func (f *futureReceiver[T]) Value(any) any         { return nil }
