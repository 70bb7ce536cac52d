package seq

import (
	"iter"

	"github.com/reactord/reactord/sender"
)

// From is the sequence of what items yields, all of it delivered inside Start, unless stop is requested
// before the end of it: then it completes stopped, and the iterator is ended as by a break. Whatever the
// iterator panics with, the sequence completes with as a *sender.PanicError. Start allocates, as calling an
// unknown iterator does; Of does not.
//
// Source: libunifex's range_stream.
func From[T any](items iter.Seq[T]) FromSequence[T] { return FromSequence[T]{items} }

// FromSequence is what From returns.
type FromSequence[T any] struct{ items iter.Seq[T] }

// FromOp is the operation state of From.
type FromOp[T any] struct {
	items iter.Seq[T]
	r     Receiver[T]
}

// Connect implements Sequence.
func (s FromSequence[T]) Connect(op *FromOp[T], r Receiver[T]) sender.Operation {
	op.items, op.r = s.items, r
	return op
}

// CompletionBehavior implements sender.CompletionDescriber.
func (s *FromSequence[T]) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }

// Start implements sender.Operation.
func (op *FromOp[T]) Start() {
	x, err := op.run()
	if err != nil {
		x = outcome{failed, err}
	}
	deliver(x, sender.Receiver[struct{}](op.r), struct{}{})
}

// run delivers the items. A panic of the receiver is not the iterator's, and goes on; runtime.Goexit ends the
// iterator, whosever it is.
func (op *FromOp[T]) run() (x outcome, err error) {
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
		return outcome{end: stopped}, nil
	}
	for item := range op.items {
		delivering = true
		op.r.SetNext(item)
		delivering = false
		if token.StopRequested() {
			x.end = stopped
			break
		}
	}
	returned = true
	return x, nil
}
