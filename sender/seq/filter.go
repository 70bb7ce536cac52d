package seq

import "github.com/reactord/reactord/sender"

// Filter returns the sequence of the items of s for which keep returns true. drop is called for the others.
//
// Completion: where s completes, as s does. If keep panics, its item is dropped, s is requested to stop and joined,
// what it still delivers is dropped, and the sequence completes with a [*sender.PanicError].
//
// Cancellation: by s. If stop was requested before Start, s is not started.
//
// Source: libunifex's filter_stream.
func Filter[T, O any, S Sequence[T, O]](
	s S, keep func(T) bool, drop func(T),
) FilterSequence[T, O, S] {
	return FilterSequence[T, O, S]{s, keep, drop}
}

// FilterSequence is the sequence that [Filter] returns.
type FilterSequence[T, O any, S Sequence[T, O]] struct {
	s    S
	keep func(T) bool
	drop func(T)
}

// FilterOp is the operation state of [FilterSequence].
type FilterOp[T, O any] struct {
	oneSource
	credit
	child O
	start sender.Operation
	keep  func(T) bool
	drop  func(T)
	r     Receiver[T]
}

// Connect implements [Sequence].
func (s FilterSequence[T, O, S]) Connect(op *FilterOp[T, O], r Receiver[T]) sender.Operation {
	op.keep, op.drop, op.r = s.keep, s.drop, r
	op.start = op.connect(s.s.Connect(&op.child, (*filter[T, O])(op)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *FilterSequence[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements [sender.Operation].
func (op *FilterOp[T, O]) Start() {
	if op.begin((*filter[T, O])(op), op.r.Env()) {
		op.start.Start()
	}
}

// filter is the receiver of the source.
type filter[T, O any] FilterOp[T, O]

func (op *filter[T, O]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	keep, ok := call(op.keep, item, func(err error) {
		dispose(op.drop, item)
		op.fail(err)
	})
	switch {
	case !ok:
	case keep:
		op.r.SetNext(item)
	default:
		dispose(op.drop, item)
		op.consumed()
	}
}

func (op *filter[T, O]) OnJoined() { op.result.Deliver(op.r) }
