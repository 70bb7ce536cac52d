package seq

import "github.com/reactord/reactord/sender"

// Transform returns the sequence of f(item) for every item of s. f owns the item that it is called with.
//
// Completion: where s completes, as s does. If f panics, s is requested to stop and joined, what it still delivers is
// dropped, and the sequence completes with a [*sender.PanicError].
//
// Cancellation: by s. If stop was requested before Start, s is not started.
//
// Source: libunifex's transform_stream, stdexec's exec::transform_each.
func Transform[A, B, O any, S Sequence[A, O]](
	s S, f func(A) B, drop func(A),
) TransformSequence[A, B, O, S] {
	return TransformSequence[A, B, O, S]{s, f, drop}
}

// TransformSequence is the sequence that [Transform] returns.
type TransformSequence[A, B, O any, S Sequence[A, O]] struct {
	s    S
	f    func(A) B
	drop func(A)
}

// TransformOp is the operation state of [TransformSequence].
type TransformOp[A, B, O any] struct {
	oneSource
	credit
	child O
	start sender.Operation
	f     func(A) B
	drop  func(A)
	r     Receiver[B]
}

// Connect implements [Sequence].
func (s TransformSequence[A, B, O, S]) Connect(op *TransformOp[A, B, O], r Receiver[B]) sender.Operation {
	op.f, op.drop, op.r = s.f, s.drop, r
	op.start = op.connect(s.s.Connect(&op.child, (*transform[A, B, O])(op)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *TransformSequence[A, B, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements [sender.Operation].
func (op *TransformOp[A, B, O]) Start() {
	if op.begin((*transform[A, B, O])(op), op.r.Env()) {
		op.start.Start()
	}
}

// transform is the receiver of the source.
type transform[A, B, O any] TransformOp[A, B, O]

func (op *transform[A, B, O]) SetNext(item A) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	if b, ok := call(op.f, item, op.fail); ok {
		op.r.SetNext(b)
	}
}

func (op *transform[A, B, O]) OnJoined() { op.result.Deliver(op.r) }
