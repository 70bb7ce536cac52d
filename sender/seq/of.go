package seq

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Of returns the sequence of items, all of which are delivered inside Start. The slice must not change until the
// completion.
//
// Completion: inside Start.
//
// Cancellation: a stop request before the last item completes it stopped. The remaining items are not delivered: they
// stay the caller's.
//
// Source: Rx's of; libunifex's range_stream.
func Of[T any](items ...T) OfSequence[T] { return OfSequence[T]{items} }

// OfSequence is the sequence that [Of] returns.
type OfSequence[T any] struct{ items []T }

// OfOp is the operation state of [OfSequence].
type OfOp[T any] struct {
	items []T
	r     Receiver[T]
}

// Connect implements [Sequence].
func (s OfSequence[T]) Connect(op *OfOp[T], r Receiver[T]) sender.Operation {
	op.items, op.r = s.items, r
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *OfSequence[T]) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }

// Start implements [sender.Operation].
func (op *OfOp[T]) Start() {
	op.run(op.items, op.r.Env().StopToken())
}

// run delivers the items. It continues if a user's function ends this frame by runtime.Goexit.
func (op *OfOp[T]) run(items []T, token stop.Token) {
	returned := false
	defer aftergoexit.Run(&returned, func() { op.run(items, token) })
	for len(items) > 0 && !token.StopRequested() {
		item := items[0]
		items = items[1:]
		op.r.SetNext(item)
	}
	returned = true
	if len(items) > 0 {
		op.r.SetStopped()
	} else {
		op.r.SetValue(struct{}{})
	}
}
