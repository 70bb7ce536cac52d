package sender

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactord/reactord/sender/stop"
)

// ErrStopped is what a Go function returns for work that completed stopped.
var ErrStopped = errors.New("sender: stopped")

// SyncWait starts s on the calling goroutine and blocks until it has completed: with its value, its
// error, or ErrStopped if it was stopped. When ctx is done s is asked to stop, and is waited for; the
// error of work that is then stopped is both ErrStopped and ctx's cause.
//
// Meanwhile the goroutine runs a RunLoop, which is the scheduler of s's environment; the environment's
// open queries are answered by ctx. Do not call it on a thread that s needs, such as a loop's.
//
// It allocates the operation state, and what context.AfterFunc does if ctx can be done.
//
// Source: P2300R10 [exec.sync.wait].
func SyncWait[T, O any, P Operation[O], S Sender[T, O]](ctx context.Context, s S) (T, error) {
	op := &syncWaitOp[T, O]{ctx: ctx}
	s.Connect(&op.child, op)
	switch {
	case ctx.Err() != nil:
		op.source.RequestStop()
	case ctx.Done() != nil:
		defer context.AfterFunc(ctx, func() { op.source.RequestStop() })()
	}
	P(&op.child).Start()
	op.loop.Run()
	v, err := op.result.get()
	if op.result.channel == onStopped && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
	}
	return v, err
}

// syncWaitOp is the child's operation state, its receiver and that one's environment.
type syncWaitOp[T, O any] struct {
	child  O
	ctx    context.Context
	source stop.Source
	loop   RunLoop
	result result[T]
}

func (op *syncWaitOp[T, O]) finish(x result[T]) {
	op.result = x
	op.loop.Finish()
}

func (op *syncWaitOp[T, O]) SetValue(v T)       { op.finish(valueOf(v)) }
func (op *syncWaitOp[T, O]) SetError(err error) { op.finish(errorOf[T](err)) }
func (op *syncWaitOp[T, O]) SetStopped()        { op.finish(result[T]{}) }
func (op *syncWaitOp[T, O]) Env() Env           { return op }

func (op *syncWaitOp[T, O]) StopToken() stop.Token {
	if op.ctx.Done() == nil {
		return stop.Token{}
	}
	return op.source.Token()
}
func (op *syncWaitOp[T, O]) Scheduler() Scheduler { return &op.loop }
func (op *syncWaitOp[T, O]) Value(key any) any    { return op.ctx.Value(key) }
