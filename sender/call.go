package sender

import "context"

// Call returns a sender that calls f on a new goroutine, and completes there with what f returns. So any function
// with a context becomes a sender:
//
//	get := sender.Call(func(ctx context.Context) (*http.Response, error) { return fetch(ctx, url) })
//	page, err := sender.SyncWait(ctx, sender.Timeout(get, sender.ScheduleAfter(sched.Goroutines{}, time.Second)))
//
// Completion: with the result of f; stopped if f returns its context's error, or the cause of it, after a stop
// request; with a [*PanicError] if f panics, and with [ErrGoexit] if f calls runtime.Goexit. A value that f returns
// in spite of a stop request is delivered.
//
// Cancellation: a stop request cancels f's context. If stop was requested before Start, f is not called. The context
// answers the queries of the receiver's environment, and is cancelled when f has returned.
//
// Allocation: Start allocates the goroutine and the context.
func Call[T any](f func(context.Context) (T, error)) CallSender[T] {
	if f == nil {
		panic("sender: Call of no function")
	}
	return CallSender[T]{f}
}

// CallSender is the sender that [Call] returns.
type CallSender[T any] struct {
	f func(context.Context) (T, error)
}

// CallOp is the operation state of [CallSender].
type CallOp[T any] struct {
	f func(context.Context) (T, error)
	r Receiver[T]
}

// Connect implements [Sender].
func (s CallSender[T]) Connect(op *CallOp[T], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements [Operation].
func (op *CallOp[T]) Start() {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	go call(op.f, op.r)
}

// call runs on the goroutine. It completes r when f has ended.
func call[T any](f func(context.Context) (T, error), r Receiver[T]) {
	ctx, cancel := ToContext(r.Env())
	var v T
	var err error = ErrGoexit // unless f returns, or panics
	defer func() {
		if p := recover(); p != nil {
			err = NewPanicError(p) // not stopped, whatever f panicked with
		} else if err != nil && causedByContext(ctx, err) {
			err = ErrStopped
		}
		cancel()
		Complete(r, v, err)
	}()
	v, err = f(ctx)
}
