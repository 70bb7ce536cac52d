package sender

import (
	"errors"

	"github.com/reactord/reactord/sender/stop"
)

// ErrStopped is what a Go function returns for work that completed stopped.
var ErrStopped = errors.New("sender: stopped")

// SyncWait starts s on the calling goroutine and blocks until it has completed. Work that is
// stopped returns ErrStopped. Meanwhile the goroutine runs a RunLoop, which is the scheduler of s's
// environment; its stop token never stops.
//
// Do not call it on a thread that s needs, such as a loop's.
//
// Source: P2300R10 [exec.sync.wait].
func SyncWait[T, O any, P Operation[O], S Sender[T, O]](s S) (T, error) {
	op := new(syncWaitOp[T, O])
	s.Connect(&op.child, op)
	P(&op.child).Start()
	op.loop.Run()
	switch x := &op.result; x.channel {
	case onValue:
		return x.value, nil
	case onError:
		return x.value, x.err
	default:
		return x.value, ErrStopped
	}
}

// syncWaitOp is the child's operation state, its receiver and that one's environment.
type syncWaitOp[T, O any] struct {
	child  O
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

func (op *syncWaitOp[T, O]) StopToken() stop.Token { return stop.Token{} }
func (op *syncWaitOp[T, O]) Scheduler() Scheduler  { return &op.loop }
func (op *syncWaitOp[T, O]) Value(any) any         { return nil }
