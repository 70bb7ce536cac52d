package seq

import "github.com/reactord/reactord/sender"

// Filter is the sequence of those items of s that keep is true for; the others are dropped. It ends as s
// does. If keep panics its item is dropped, s is stopped and joined, what it still delivers is dropped, and
// the sequence completes with the *sender.PanicError.
//
// It delivers and completes where s does. A stop request goes to s. If stop was requested before Start, s
// is not started.
//
// Source: libunifex's filter_stream.
func Filter[T, O any, P sender.Operation[O], S Sequence[T, O]](
	s S, keep func(T) bool, drop func(T),
) FilterSequence[T, O, P, S] {
	return FilterSequence[T, O, P, S]{s, keep, drop}
}

// FilterSequence is what Filter returns.
type FilterSequence[T, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s    S
	keep func(T) bool
	drop func(T)
}

// FilterOp is the operation state of Filter.
type FilterOp[T, O any, P sender.Operation[O]] struct {
	tap
	child O
	keep  func(T) bool
	drop  func(T)
	r     Receiver[T]
}

// Connect implements Sequence.
func (s FilterSequence[T, O, P, S]) Connect(op *FilterOp[T, O, P], r Receiver[T]) {
	op.keep, op.drop, op.r = s.keep, s.drop, r
	s.s.Connect(&op.child, (*filter[T, O, P])(op))
}

// Completion implements sender.Completer.
func (s *FilterSequence[T, O, P, S]) Completion() sender.Completion { return sender.CompletionOf(&s.s) }

// Start implements sender.Operation.
func (op *FilterOp[T, O, P]) Start() {
	if op.begin((*filter[T, O, P])(op), op.r.Env()) {
		P(&op.child).Start()
	}
}

// filter is the operation as the source's receiver.
type filter[T, O any, P sender.Operation[O]] FilterOp[T, O, P]

func (op *filter[T, O, P]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	keep, err := call(op.keep, item)
	if keep {
		op.r.SetNext(item)
		return
	}
	dispose(op.drop, item)
	if err != nil {
		op.end(outcome{failed, err})
	}
}

func (op *filter[T, O, P]) Finish() { deliver(op.outcome, op.r, struct{}{}) }
