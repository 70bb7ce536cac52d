package seq

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Take returns the sequence of the first n items of s. After the last of them s is requested to stop and joined. drop
// is called for the items that s still delivers.
//
// Completion: where s completes: with the value after n items, on whichever channel s completed; as s does, if s
// completes before. If n is 0 or less, s is not started, and it completes inside Start.
//
// Cancellation: by s. If stop was requested before Start, s is not started.
//
// Source: libunifex's take_until over streams; Rx's take.
func Take[T, O any, S Sequence[T, O]](s S, n int, drop func(T)) TakeSequence[T, O, S] {
	return TakeSequence[T, O, S]{s, n, drop}
}

// TakeSequence is the sequence that [Take] returns.
type TakeSequence[T, O any, S Sequence[T, O]] struct {
	s    S
	n    int
	drop func(T)
}

// TakeOp is the operation state of [TakeSequence].
type TakeOp[T, O any] struct {
	oneSource
	credit
	child O
	start sender.Operation
	n     int
	left  int
	drop  func(T)
	r     Receiver[T]
}

// Connect implements [Sequence].
func (s TakeSequence[T, O, S]) Connect(op *TakeOp[T, O], r Receiver[T]) sender.Operation {
	op.n, op.drop, op.r = s.n, s.drop, r
	op.start = op.connect(s.s.Connect(&op.child, (*take[T, O])(op)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *TakeSequence[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements [sender.Operation].
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

// take is the receiver of the source.
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

// last delivers the last item and stops the source. It stops the source also if a user's function ends this frame by
// runtime.Goexit.
func (op *take[T, O]) last(item T) {
	returned := false
	defer aftergoexit.Run(&returned, op.enoughTaken)
	op.r.SetNext(item)
	returned = true
	op.enoughTaken()
}

func (op *take[T, O]) enoughTaken() { op.finish(completed) }

func (op *take[T, O]) OnJoined() { op.result.Deliver(op.r) }
