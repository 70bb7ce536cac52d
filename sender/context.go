package sender

import (
	"context"
	"errors"
	"sync"

	"github.com/reactord/reactord/sender/stop"
)

// FromContext returns s with two changes: it is also requested to stop when ctx is done, and ctx answers queries
// before the receiver's environment.
//
// Completion: as and where s completes. The error of ctx is not delivered.
//
// Cancellation: when ctx is done, s is requested to stop on a goroutine of context.AfterFunc; inside Start if ctx was
// done before.
//
// Allocation: Start allocates as context.AfterFunc does, unless ctx can never be done.
func FromContext[T, O any, S Sender[T, O]](ctx context.Context, s S) FromContextSender[T, O, S] {
	return FromContextSender[T, O, S]{ctx, s}
}

// FromContextSender is the sender that [FromContext] returns.
type FromContextSender[T, O any, S Sender[T, O]] struct {
	ctx context.Context
	s   S
}

// FromContextOp is the operation state of [FromContextSender].
type FromContextOp[T, O any] struct {
	start  Operation // starts child
	child  O
	ctx    context.Context
	r      Receiver[T]
	stop   *contextStop  // nil: ctx is never done
	parent stop.Callback // forwards the receiver's stop request
	detach func() bool   // undoes context.AfterFunc; nil: ctx was done before Start
}

// contextStop requests s to stop. It is not part of the operation state, because RequestStop may still run in it,
// called by ctx, when the operation has completed and its storage is reused.
type contextStop struct{ source stop.Source }

// OnStop forwards the receiver's stop request.
func (x *contextStop) OnStop() { x.source.RequestStop() }

// Connect implements [Sender].
func (s FromContextSender[T, O, S]) Connect(op *FromContextOp[T, O], r Receiver[T]) Operation {
	op.ctx, op.r = s.ctx, r
	op.start = s.s.Connect(&op.child, (*contextReceiver[T, O])(op))
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *FromContextSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// Start implements [Operation].
func (op *FromContextOp[T, O]) Start() {
	if op.ctx.Done() == nil {
		op.start.Start()
		return
	}
	x := new(contextStop)
	op.stop = x
	op.parent.Register(op.r.Env().StopToken(), x)
	if op.ctx.Err() != nil {
		x.source.RequestStop()
	} else {
		op.detach = context.AfterFunc(op.ctx, x.OnStop)
	}
	op.start.Start()
}

// contextReceiver is the child's receiver, and its environment.
type contextReceiver[T, O any] FromContextOp[T, O]

// detachAll stops the forwarding of stop requests.
func (op *contextReceiver[T, O]) detachAll() {
	if op.stop == nil {
		return
	}
	op.parent.Deregister()
	if op.detach != nil {
		op.detach()
	}
	op.stop, op.detach = nil, nil
}

func (op *contextReceiver[T, O]) SetValue(v T) {
	op.detachAll()
	op.r.SetValue(v)
}

func (op *contextReceiver[T, O]) SetError(err error) {
	op.detachAll()
	op.r.SetError(err)
}

func (op *contextReceiver[T, O]) SetStopped() {
	op.detachAll()
	op.r.SetStopped()
}

func (op *contextReceiver[T, O]) Env() Env { return op }

func (op *contextReceiver[T, O]) StopToken() stop.Token {
	if op.stop == nil {
		return op.r.Env().StopToken()
	}
	return op.stop.source.Token()
}

func (op *contextReceiver[T, O]) Scheduler() Scheduler { return op.r.Env().Scheduler() }

func (op *contextReceiver[T, O]) Value(key any) any {
	if v := op.ctx.Value(key); v != nil {
		return v
	}
	return op.r.Env().Value(key)
}

// ToContext returns a context that is cancelled when the stop token of env is requested to stop, with [ErrStopped] as
// its cause. Its values are the answers of env. With it an operation calls ordinary Go code. If that returns the
// error of the context, or an error that wraps it, the operation has been stopped: see [Complete].
//
// cancel must be called before the operation that env belongs to completes. It cancels the context. If a stop request
// on another thread is cancelling the context at that moment, cancel waits for it.
//
// Allocation: the context.
func ToContext(env Env) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cause := context.WithCancelCause(envContext{context.Background(), env})
	c := &canceller{cancel: cause}
	c.onStop.Register(env.StopToken(), c)
	return ctx, func() {
		c.once.Do(c.onStop.Deregister)
		cause(context.Canceled)
	}
}

// envContext is a context whose values are the answers of an environment.
type envContext struct {
	context.Context
	env Env
}

// Value asks the environment.
func (c envContext) Value(key any) any { return c.env.Value(key) }

// canceller cancels a context when stop is requested.
type canceller struct {
	onStop stop.Callback
	cancel context.CancelCauseFunc
	once   sync.Once // deregisters
}

// OnStop cancels the context.
func (c *canceller) OnStop() { c.cancel(ErrStopped) }

// causedByContext reports whether err is how a function reports that ctx, which it was called with, is done:
// context.Canceled, the error of ctx, or its cause. The error of a panic is none of these.
func causedByContext(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !isPanic(err) &&
		(isCancellation(err) || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// causedByStop reports whether err is how a function reports that its context, which it has from ToContext, was
// cancelled by a stop request to token.
func causedByStop(token stop.Token, err error) bool {
	return isCancellation(err) && token.StopRequested() && !isPanic(err)
}

// isCancellation reports whether err is the error or the cause of a cancelled context of ToContext.
func isCancellation(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrStopped)
}

func isPanic(err error) bool {
	var p *PanicError
	return errors.As(err, &p)
}
