package seq

import "github.com/reactord/reactord/sender"

// Take is the sequence of the first n items of s. After the last of them s is stopped and joined, what it
// still delivers is dropped, and the sequence completes with the value, however s ended. If s ends before
// that, so does the sequence, in the same way. With n of 0 or less s is not started.
//
// It delivers and completes where s does. A stop request goes to s. If stop was requested before Start, s
// is not started.
//
// Source: libunifex's take_until over streams; Rx's take.
func Take[T, O any, P sender.Operation[O], S Sequence[T, O]](s S, n int, drop func(T)) TakeSequence[T, O, P, S] {
	return TakeSequence[T, O, P, S]{s, n, drop}
}

// TakeSequence is what Take returns.
type TakeSequence[T, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s    S
	n    int
	drop func(T)
}

// TakeOp is the operation state of Take.
type TakeOp[T, O any, P sender.Operation[O]] struct {
	tap
	child O
	n     int
	left  int
	drop  func(T)
	r     Receiver[T]
}

// Connect implements Sequence.
func (s TakeSequence[T, O, P, S]) Connect(op *TakeOp[T, O, P], r Receiver[T]) {
	op.n, op.drop, op.r = s.n, s.drop, r
	s.s.Connect(&op.child, (*take[T, O, P])(op))
}

// Completion implements sender.Completer.
func (s *TakeSequence[T, O, P, S]) Completion() sender.Completion { return sender.CompletionOf(&s.s) }

// Start implements sender.Operation.
func (op *TakeOp[T, O, P]) Start() {
	op.left = op.n
	if op.left <= 0 {
		op.r.SetValue(struct{}{})
		return
	}
	if op.begin((*take[T, O, P])(op), op.r.Env()) {
		P(&op.child).Start()
	}
}

// take is the operation as the source's receiver.
type take[T, O any, P sender.Operation[O]] TakeOp[T, O, P]

func (op *take[T, O, P]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	op.left--
	op.r.SetNext(item)
	if op.left == 0 {
		op.end(outcome{})
	}
}

func (op *take[T, O, P]) Finish() { deliver(op.outcome, op.r, struct{}{}) }
