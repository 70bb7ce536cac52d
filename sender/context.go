package sender

import (
	"context"
	"errors"
	"sync"

	"github.com/reactord/reactord/sender/stop"
)

// FromContext is s that is asked to stop when ctx is done, too, and whose open queries are answered by
// ctx first. It completes as and where s does; ctx's error is not delivered, since being stopped is
// none.
//
// Start allocates, as context.AfterFunc does, unless ctx is never done. The request comes on a
// goroutine of its own, or inside Start if ctx was done before.
func FromContext[T, O any, S Sender[T, O]](ctx context.Context, s S) FromContextSender[T, O, S] {
	return FromContextSender[T, O, S]{ctx, s}
}

// FromContextSender is what FromContext returns.
type FromContextSender[T, O any, S Sender[T, O]] struct {
	ctx context.Context
	s   S
}

// FromContextOp is the operation state of FromContext.
type FromContextOp[T, O any] struct {
	start  Operation // starts child
	child  O
	ctx    context.Context
	r      Receiver[T]
	link   *contextLink // nil: ctx is never done
	parent stop.Callback
	unlink func() bool // takes the link from ctx
}

// contextLink asks s to stop. It is not part of the operation state, because ctx, and whoever else
// requests stop, may still be at work in it when the operation has completed.
type contextLink struct{ source stop.Source }

// OnStop forwards the receiver's stop request.
func (l *contextLink) OnStop() { l.source.RequestStop() }

// Connect implements Sender.
func (s FromContextSender[T, O, S]) Connect(op *FromContextOp[T, O], r Receiver[T]) Operation {
	op.ctx, op.r = s.ctx, r
	op.start = s.s.Connect(&op.child, (*contextReceiver[T, O])(op))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *FromContextSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

// Start implements Operation.
func (op *FromContextOp[T, O]) Start() {
	if op.ctx.Done() == nil {
		op.start.Start()
		return
	}
	l := new(contextLink)
	op.link = l
	op.parent.Register(op.r.Env().StopToken(), l)
	if op.ctx.Err() != nil {
		l.source.RequestStop()
	} else {
		op.unlink = context.AfterFunc(op.ctx, l.OnStop)
	}
	op.start.Start()
}

// contextReceiver is the child's receiver, and its environment.
type contextReceiver[T, O any] FromContextOp[T, O]

// free lets go of what asks for a stop.
func (op *contextReceiver[T, O]) free() {
	if op.link == nil {
		return
	}
	op.parent.Deregister()
	if op.unlink != nil {
		op.unlink()
	}
	op.link, op.unlink = nil, nil
}

func (op *contextReceiver[T, O]) SetValue(v T) {
	op.free()
	op.r.SetValue(v)
}

func (op *contextReceiver[T, O]) SetError(err error) {
	op.free()
	op.r.SetError(err)
}

func (op *contextReceiver[T, O]) SetStopped() {
	op.free()
	op.r.SetStopped()
}

func (op *contextReceiver[T, O]) Env() Env { return op }

func (op *contextReceiver[T, O]) StopToken() stop.Token {
	if op.link == nil {
		return op.r.Env().StopToken()
	}
	return op.link.source.Token()
}

func (op *contextReceiver[T, O]) Scheduler() Scheduler { return op.r.Env().Scheduler() }

func (op *contextReceiver[T, O]) Value(key any) any {
	if v := op.ctx.Value(key); v != nil {
		return v
	}
	return op.r.Env().Value(key)
}

// ToContext is a context that is cancelled when env's stop token asks for it, with ErrStopped as its
// cause, and whose values are env's answers: for calling ordinary Go code from inside of an operation.
//
// A function that then returns the context's error, or one that wraps it, has been stopped: see Complete.
//
// cancel must be called before the operation whose environment it is completes. It cancels the
// context, and waits if that is being cancelled by a stop request on another thread. It allocates.
func ToContext(env Env) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cause := context.WithCancelCause(envContext{context.Background(), env})
	c := &canceller{cancel: cause}
	c.onStop.Register(env.StopToken(), c)
	return ctx, func() {
		c.once.Do(c.onStop.Deregister)
		cause(context.Canceled)
	}
}

// envContext answers from an environment.
type envContext struct {
	context.Context
	env Env
}

// Value is the environment's.
func (c envContext) Value(key any) any { return c.env.Value(key) }

// canceller cancels a context when it is asked to stop.
type canceller struct {
	onStop stop.Callback
	cancel context.CancelCauseFunc
	once   sync.Once // deregisters
}

// OnStop cancels the context.
func (c *canceller) OnStop() { c.cancel(ErrStopped) }

// cancelled tells whether err is what a function returns that was given ctx, and gave up because that is done:
// context.Canceled, or ctx's own error, or its cause. A panic is none of that.
func cancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !panicked(err) &&
		(gaveUp(err) || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// heeds tells whether err is what a function returns that was given a context of ToContext, and gave up because
// stop was requested at token.
func heeds(token stop.Token, err error) bool {
	return gaveUp(err) && token.StopRequested() && !panicked(err)
}

// gaveUp tells whether err is that of a context of ToContext, or its cause.
func gaveUp(err error) bool { return errors.Is(err, context.Canceled) || errors.Is(err, ErrStopped) }

func panicked(err error) bool {
	var p *PanicError
	return errors.As(err, &p)
}
