package sender

import (
	"context"
	"errors"
	"fmt"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/internal/goroutine"
	"github.com/reactord/reactord/sender/stop"
)

// ErrStopped is the error that a Go function returns for work that completed stopped.
var ErrStopped = errors.New("sender: stopped")

// SyncWait starts s on the calling goroutine, blocks until s has completed, and returns its value, its error, or
// [ErrStopped]. Meanwhile the goroutine runs a [RunLoop], which is the scheduler of the environment of s. ctx answers
// the queries of that environment.
//
// Cancellation: when ctx is done, s is requested to stop and waited for. If s then completes stopped, or with the
// error of ctx, the returned error is both ErrStopped and the cause of ctx. If s is a [CountingScope.Join], the work in
// the scope continues then: request it to stop, and join the scope again.
//
// SyncWait panics on the thread of a loop, such as a reactor's loop or a RunLoop, and in tasks that are coroutines of
// a loop: the loop would wait for itself.
//
// If a function that s calls on this goroutine calls runtime.Goexit, as testing's FailNow does, SyncWait waits for s,
// and then the goroutine ends.
//
// Allocation: the operation state, and what context.AfterFunc allocates if ctx can be done.
//
// Source: P2300R10 [exec.sync.wait].
func SyncWait[T, O any, S Sender[T, O]](ctx context.Context, s S) (T, error) {
	if goroutine.Drives() {
		panic("sender: SyncWait on the thread of a loop, which would wait for itself: " +
			"use Await in a task, or start the work, with Submit or Spawn, and continue in its completion")
	}
	op := &syncWaitOp[T, O]{ctx: ctx}
	start := s.Connect(&op.child, op)
	if join, ok := any(&op.child).(*JoinOp); ok && ctx.Done() != nil {
		join.stoppable = true
	}
	switch {
	case ctx.Err() != nil:
		op.source.RequestStop()
	case ctx.Done() != nil:
		defer context.AfterFunc(ctx, func() { op.source.RequestStop() })()
	}
	op.run(start)
	v, err := op.result.Get()
	if err != nil && causedByContext(ctx, err) {
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
	result Completion[T]
}

// run starts the child and waits for it, also if a function of the user's ends this goroutine inside Start.
func (op *syncWaitOp[T, O]) run(child Operation) {
	returned := false
	defer aftergoexit.Run(&returned, op.loop.run)
	child.Start()
	returned = true
	op.loop.run()
}

func (op *syncWaitOp[T, O]) finish(x Completion[T]) {
	op.result = x
	op.loop.Finish()
}

func (op *syncWaitOp[T, O]) SetValue(v T)       { op.finish(CompletionValue(v)) }
func (op *syncWaitOp[T, O]) SetError(err error) { op.finish(CompletionError[T](err)) }
func (op *syncWaitOp[T, O]) SetStopped()        { op.finish(CompletionStopped[T]()) }
func (op *syncWaitOp[T, O]) Env() Env           { return op }

// SetPartial implements [PartialReceiver]: SyncWait returns the part, and why it is not all.
func (op *syncWaitOp[T, O]) SetPartial(v T, err error) {
	op.finish(Completion[T]{Channel: OnError, Value: v, Err: err})
}

func (op *syncWaitOp[T, O]) StopToken() stop.Token {
	if op.ctx.Done() == nil {
		return stop.Token{}
	}
	return op.source.Token()
}
func (op *syncWaitOp[T, O]) Scheduler() Scheduler { return &op.loop }
func (op *syncWaitOp[T, O]) Value(key any) any    { return op.ctx.Value(key) }
