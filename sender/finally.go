package sender

import (
	"errors"

	"github.com/reactord/reactord/sender/stop"
)

// Finally returns a sender that runs cleanup when s has completed, on whichever channel, and then completes as s did.
// cleanup is connected by Connect, so that nothing can fail between the completion of s and the start of cleanup.
//
// Completion: where cleanup completes, with the completion of s. The value of cleanup, and that it was stopped, are
// dropped. If cleanup fails, its error is delivered, joined with the error of s if s failed too.
//
// Cancellation: by s. A stop request does not reach cleanup, as in [Unstoppable].
//
// Allocation: only to join two errors.
//
// Source: libunifex's finally, stdexec's exec::finally.
func Finally[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, cleanup S2,
) FinallySender[T, U, O1, O2, S1, S2] {
	return FinallySender[T, U, O1, O2, S1, S2]{s, cleanup}
}

// FinallySender is the sender that [Finally] returns.
type FinallySender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	cleanup S2
}

// FinallyOp is the operation state of [FinallySender].
type FinallyOp[T, U, O1, O2 any] struct {
	child   O1
	cleanup O2
	clean   Operation     // starts cleanup
	result  Completion[T] // the child's
	r       Receiver[T]
}

// Connect implements [Sender].
func (s FinallySender[T, U, O1, O2, S1, S2]) Connect(op *FinallyOp[T, U, O1, O2], r Receiver[T]) Operation {
	op.r = r
	op.clean = s.cleanup.Connect(&op.cleanup, (*cleanupReceiver[T, U, O1, O2])(op))
	return s.s.Connect(&op.child, (*finallyReceiver[T, U, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *FinallySender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.cleanup))
}

// finallyReceiver is the child's receiver.
type finallyReceiver[T, U, O1, O2 any] FinallyOp[T, U, O1, O2]

func (op *finallyReceiver[T, U, O1, O2]) complete(x Completion[T]) {
	op.result = x
	op.clean.Start()
}

func (op *finallyReceiver[T, U, O1, O2]) SetValue(v T)       { op.complete(CompletionValue(v)) }
func (op *finallyReceiver[T, U, O1, O2]) SetError(err error) { op.complete(CompletionError[T](err)) }
func (op *finallyReceiver[T, U, O1, O2]) SetStopped()        { op.complete(CompletionStopped[T]()) }
func (op *finallyReceiver[T, U, O1, O2]) Env() Env           { return op.r.Env() }

// cleanupReceiver is the clean-up's receiver, and its environment.
type cleanupReceiver[T, U, O1, O2 any] FinallyOp[T, U, O1, O2]

func (op *cleanupReceiver[T, U, O1, O2]) SetValue(U)  { op.SetStopped() }
func (op *cleanupReceiver[T, U, O1, O2]) SetStopped() { op.take().Deliver(op.r) }

func (op *cleanupReceiver[T, U, O1, O2]) SetError(err error) {
	if x := op.take(); x.Channel == OnError {
		err = errors.Join(x.Err, err)
	}
	op.r.SetError(err)
}

func (op *cleanupReceiver[T, U, O1, O2]) take() Completion[T] {
	x := op.result
	op.result = Completion[T]{}
	return x
}

func (op *cleanupReceiver[T, U, O1, O2]) Env() Env              { return op }
func (op *cleanupReceiver[T, U, O1, O2]) StopToken() stop.Token { return stop.Token{} }
func (op *cleanupReceiver[T, U, O1, O2]) Scheduler() Scheduler  { return op.r.Env().Scheduler() }
func (op *cleanupReceiver[T, U, O1, O2]) Value(key any) any     { return op.r.Env().Value(key) }
