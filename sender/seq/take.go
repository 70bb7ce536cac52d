package seq

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Take is the sequence of the first n items of s. After the last of them s is stopped and joined, what it
// still delivers is dropped, and the sequence completes with the value, however s ended. If s ends before
// that, so does the sequence, in the same way. With n of 0 or less s is not started.
//
// It delivers and completes where s does. A stop request goes to s. If stop was requested before Start, s
// is not started.
//
// Source: libunifex's take_until over streams; Rx's take.
func Take[T, O any, S Sequence[T, O]](s S, n int, drop func(T)) TakeSequence[T, O, S] {
	return TakeSequence[T, O, S]{s, n, drop}
}

// TakeSequence is what Take returns.
type TakeSequence[T, O any, S Sequence[T, O]] struct {
	s    S
	n    int
	drop func(T)
}

// TakeOp is the operation state of Take.
type TakeOp[T, O any] struct {
	tap
	credit
	child O
	start sender.Operation
	n     int
	left  int
	drop  func(T)
	r     Receiver[T]
}

// Connect implements Sequence.
func (s TakeSequence[T, O, S]) Connect(op *TakeOp[T, O], r Receiver[T]) sender.Operation {
	op.n, op.drop, op.r = s.n, s.drop, r
	op.start = op.connect(s.s.Connect(&op.child, (*take[T, O])(op)))
	return op
}

// CompletionBehavior implements sender.CompletionDescriber.
func (s *TakeSequence[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements sender.Operation.
func (op *TakeOp[T, O]) Start() {
	op.left = op.n
	if op.left <= 0 {
		op.r.SetValue(struct{}{})
		return
	}
	if op.begin((*take[T, O])(op), op.r.Env()) {
		op.start.Start()
	}
}

// take is the operation as the source's receiver.
type take[T, O any] TakeOp[T, O]

func (op *take[T, O]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	if op.left--; op.left == 0 {
		op.last(item)
		return
	}
	op.r.SetNext(item)
}

// last delivers the last item and stops the source, also if a function of the receiver's ends this frame by
// runtime.Goexit.
func (op *take[T, O]) last(item T) {
	returned := false
	defer aftergoexit.Run(&returned, op.enoughTaken)
	op.r.SetNext(item)
	returned = true
	op.enoughTaken()
}

func (op *take[T, O]) enoughTaken() { op.end(outcome{}) }

func (op *take[T, O]) Finish() { deliver(op.outcome, op.r, struct{}{}) }
