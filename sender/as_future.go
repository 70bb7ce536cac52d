package sender

import (
	"context"

	"github.com/reactord/reactord/sender/stop"
)

// AsFuture starts s at once, and returns where its result will be. The environment has the future's
// stop token only. It allocates the operation state with the future, and a channel.
//
// Source: P1525R1 Appendix D (as_future).
func AsFuture[T, O any, S Sender[T, O]](s S) *Future[T] {
	x := new(futureState[T, O])
	x.done = make(chan struct{})
	s.Connect(&x.child, (*futureReceiver[T])(&x.Future)).Start()
	return &x.Future
}

// Future is the result of work that has been started, now or later. All its methods may be called from
// any goroutine.
type Future[T any] struct {
	source stop.Source
	done   chan struct{}
	result result[T] // once done is closed
}

// futureState is what AsFuture allocates.
type futureState[T, O any] struct {
	Future[T]
	child O
}

// Done is closed when there is a result.
func (f *Future[T]) Done() <-chan struct{} { return f.done }

// Get waits for the result: the value, the error, or ErrStopped if the work was stopped. When ctx is
// done before, it returns ctx's cause; the work goes on, and Get may be called again. It blocks the
// goroutine; do not call it on a thread that the work needs, such as a loop's.
func (f *Future[T]) Get(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		return f.result.get()
	default:
	}
	select {
	case <-f.done:
		return f.result.get()
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// RequestStop asks the work to stop. It does not wait.
func (f *Future[T]) RequestStop() { f.source.RequestStop() }

// futureReceiver is the work's receiver, and its environment.
type futureReceiver[T any] Future[T]

func (f *futureReceiver[T]) complete(x result[T]) {
	f.result = x
	close(f.done)
}

func (f *futureReceiver[T]) SetValue(v T)          { f.complete(valueOf(v)) }
func (f *futureReceiver[T]) SetError(err error)    { f.complete(errorOf[T](err)) }
func (f *futureReceiver[T]) SetStopped()           { f.complete(result[T]{}) }
func (f *futureReceiver[T]) Env() Env              { return f }
func (f *futureReceiver[T]) StopToken() stop.Token { return f.source.Token() }
func (f *futureReceiver[T]) Scheduler() Scheduler  { return nil }
func (f *futureReceiver[T]) Value(any) any         { return nil }
