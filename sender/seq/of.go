package seq

import "github.com/reactord/reactord/sender"

// Of is the sequence of items, all of them delivered inside Start, unless stop is requested before the last
// of them: then it completes stopped, and the items left are the caller's as before. The slice must not
// change meanwhile.
//
// Source: Rx's of; libunifex's range_stream.
func Of[T any](items ...T) OfSequence[T] { return OfSequence[T]{items} }

// OfSequence is what Of returns.
type OfSequence[T any] struct{ items []T }

// OfOp is the operation state of Of.
type OfOp[T any] struct {
	items []T
	r     Receiver[T]
}

// Connect implements Sequence.
func (s OfSequence[T]) Connect(op *OfOp[T], r Receiver[T]) { op.items, op.r = s.items, r }

// Completion implements sender.Completer.
func (s *OfSequence[T]) Completion() sender.Completion { return sender.Inline }

// Start implements sender.Operation.
func (op *OfOp[T]) Start() {
	token := op.r.Env().StopToken()
	for _, item := range op.items {
		if token.StopRequested() {
			op.r.SetStopped()
			return
		}
		op.r.SetNext(item)
	}
	op.r.SetValue(struct{}{})
}
