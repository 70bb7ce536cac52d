package sender

import "context"

// Call calls f on a goroutine of its own and completes there with what f returns. f's context ends when
// stop is requested, and answers the environment's open queries; it is over when f has returned.
//
// If f then fails with its context's error, or with the cause of that, Call completes stopped: that is how a
// function of Go says that it was stopped. Whatever else f returns is delivered, a value that came in
// spite of a stop request too. If f panics it completes with a *PanicError, and after runtime.Goexit with
// ErrGoexit. If stop was requested before Start, f is not called.
//
// Start allocates the goroutine and the context. So any function with a context becomes work that
// composes:
//
//	get := sender.Call(func(ctx context.Context) (*http.Response, error) { return fetch(ctx, url) })
//	page, err := sender.SyncWait(ctx, sender.Timeout(get, sender.ScheduleAfter(sched.Goroutines{}, time.Second)))
func Call[T any](f func(context.Context) (T, error)) CallSender[T] {
	if f == nil {
		panic("sender: Call of no function")
	}
	return CallSender[T]{f}
}

// CallSender is what Call returns.
type CallSender[T any] struct {
	f func(context.Context) (T, error)
}

// CallOp is the operation state of Call. It may be started again without connecting it anew.
type CallOp[T any] struct {
	f func(context.Context) (T, error)
	r Receiver[T]
}

// Connect implements Sender.
func (s CallSender[T]) Connect(op *CallOp[T], r Receiver[T]) Operation {
	op.f, op.r = s.f, r
	return op
}

// Start implements Operation.
func (op *CallOp[T]) Start() {
	if op.r.Env().StopToken().StopRequested() {
		op.r.SetStopped()
		return
	}
	go call(op.f, op.r)
}

// call is the goroutine. It completes r when f can do nothing more.
func call[T any](f func(context.Context) (T, error), r Receiver[T]) {
	ctx, cancel := ToContext(r.Env())
	var v T
	var err error = ErrGoexit // unless f returns, or panics
	defer func() {
		if p := recover(); p != nil {
			err = NewPanicError(p) // and not stopped, whatever it panicked with
		} else if err != nil && cancelled(ctx, err) {
			err = ErrStopped
		}
		cancel()
		Complete(r, v, err)
	}()
	v, err = f(ctx)
}
