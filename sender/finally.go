package sender

import (
	"errors"

	"github.com/reactord/reactord/sender/stop"
)

// Finally runs cleanup once s has completed, in whichever way, and then completes as s did. cleanup's
// value is dropped, and so is its being stopped; if it fails its error is delivered, joined to s's if
// that failed too. It completes where cleanup does.
//
// A stop request is s's affair; cleanup does not see it, as in Unstoppable. cleanup is connected by
// Connect, so that nothing stands between the completion of s and its start. Nothing is allocated,
// but to join two errors.
//
// Source: libunifex's finally, stdexec's exec::finally.
func Finally[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, cleanup S2,
) FinallySender[T, U, O1, O2, S1, S2] {
	return FinallySender[T, U, O1, O2, S1, S2]{s, cleanup}
}

// FinallySender is what Finally returns.
type FinallySender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	cleanup S2
}

// FinallyOp is the operation state of Finally.
type FinallyOp[T, U, O1, O2 any] struct {
	child   O1
	cleanup O2
	clean   Operation // starts cleanup
	result  result[T] // the child's
	r       Receiver[T]
}

// Connect implements Sender.
func (s FinallySender[T, U, O1, O2, S1, S2]) Connect(op *FinallyOp[T, U, O1, O2], r Receiver[T]) Operation {
	op.r = r
	op.clean = s.cleanup.Connect(&op.cleanup, (*cleanupReceiver[T, U, O1, O2])(op))
	return s.s.Connect(&op.child, (*finallyReceiver[T, U, O1, O2])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *FinallySender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.cleanup))
}

// finallyReceiver is the child's receiver.
type finallyReceiver[T, U, O1, O2 any] FinallyOp[T, U, O1, O2]

func (op *finallyReceiver[T, U, O1, O2]) leave(x result[T]) {
	op.result = x
	op.clean.Start()
}

func (op *finallyReceiver[T, U, O1, O2]) SetValue(v T)       { op.leave(valueOf(v)) }
func (op *finallyReceiver[T, U, O1, O2]) SetError(err error) { op.leave(errorOf[T](err)) }
func (op *finallyReceiver[T, U, O1, O2]) SetStopped()        { op.leave(result[T]{}) }
func (op *finallyReceiver[T, U, O1, O2]) Env() Env           { return op.r.Env() }

// cleanupReceiver is the clean-up's receiver, and its environment.
type cleanupReceiver[T, U, O1, O2 any] FinallyOp[T, U, O1, O2]

func (op *cleanupReceiver[T, U, O1, O2]) SetValue(U)  { op.SetStopped() }
func (op *cleanupReceiver[T, U, O1, O2]) SetStopped() { op.take().deliver(op.r) }

func (op *cleanupReceiver[T, U, O1, O2]) SetError(err error) {
	if x := op.take(); x.channel == onError {
		err = errors.Join(x.err, err)
	}
	op.r.SetError(err)
}

func (op *cleanupReceiver[T, U, O1, O2]) take() result[T] {
	x := op.result
	op.result = result[T]{}
	return x
}

func (op *cleanupReceiver[T, U, O1, O2]) Env() Env              { return op }
func (op *cleanupReceiver[T, U, O1, O2]) StopToken() stop.Token { return stop.Token{} }
func (op *cleanupReceiver[T, U, O1, O2]) Scheduler() Scheduler  { return op.r.Env().Scheduler() }
func (op *cleanupReceiver[T, U, O1, O2]) Value(key any) any     { return op.r.Env().Value(key) }
