package seq

import (
	"iter"

	"github.com/reactord/reactord/sender"
)

// From returns the sequence of what items yields, all of which is delivered inside Start.
//
// Completion: inside Start. A panic of the iterator completes it with a [*sender.PanicError].
//
// Cancellation: a stop request before the end of the iteration completes it stopped, and ends the iteration as break
// does.
//
// Allocation: Start allocates, as a call of an unknown iterator does. [Of] does not.
//
// Source: libunifex's range_stream.
func From[T any](items iter.Seq[T]) FromSequence[T] { return FromSequence[T]{items} }

// FromSequence is the sequence that [From] returns.
type FromSequence[T any] struct{ items iter.Seq[T] }

// FromOp is the operation state of [FromSequence].
type FromOp[T any] struct {
	items iter.Seq[T]
	r     Receiver[T]
}

// Connect implements [Sequence].
func (s FromSequence[T]) Connect(op *FromOp[T], r Receiver[T]) sender.Operation {
	op.items, op.r = s.items, r
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *FromSequence[T]) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }

// Start implements [sender.Operation].
func (op *FromOp[T]) Start() {
	x, err := op.run()
	if err != nil {
		x = failed(err)
	}
	x.Deliver(op.r)
}

// run delivers the items. It does not recover a panic of the receiver. If a user's function calls runtime.Goexit the
// iteration ends.
func (op *FromOp[T]) run() (x completion, err error) {
	returned, delivering := false, false
	defer func() {
		if returned {
			return
		}
		switch v := recover(); {
		case v == nil:
			op.r.SetError(sender.ErrGoexit) // Start does not get any further
		case delivering:
			panic(v)
		default:
			err = sender.NewPanicError(v)
		}
	}()
	token := op.r.Env().StopToken()
	if token.StopRequested() {
		returned = true
		return stopped, nil
	}
	x = completed
	for item := range op.items {
		delivering = true
		op.r.SetNext(item)
		delivering = false
		if token.StopRequested() {
			x = stopped
			break
		}
	}
	returned = true
	return x, nil
}
