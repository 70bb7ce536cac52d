package sender

// Sequence goes on with b when a completes with a value, which is dropped, and passes on the rest of
// a's completions. b is connected when a has completed; should its Connect panic, that is an error as
// any other. It completes where b does, or where a does if that has no value. A stop request is the
// affair of whichever is running. Connect allocates a copy of b, once for each operation state.
//
// Source: D2006R1 Appendix B, example 3.
func Sequence[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]](
	a S1, b S2,
) SequenceSender[A, B, O1, O2, S1, S2] {
	return SequenceSender[A, B, O1, O2, S1, S2]{a, b}
}

// SequenceSender is what Sequence returns.
type SequenceSender[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]] struct {
	a S1
	b S2
}

// SequenceOp is the operation state of Sequence.
type SequenceOp[A, B, O1, O2 any] struct {
	first  O1
	second O2
	b      kept[B, O2]
	r      Receiver[B]
}

// Connect implements Sender.
func (s SequenceSender[A, B, O1, O2, S1, S2]) Connect(op *SequenceOp[A, B, O1, O2], r Receiver[B]) Operation {
	op.b, op.r = keep(op.b, s.b), r
	return s.a.Connect(&op.first, (*sequenceReceiver[A, B, O1, O2])(op))
}

// CompletionBehavior implements CompletionDescriber.
func (s *SequenceSender[A, B, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

type sequenceReceiver[A, B, O1, O2 any] SequenceOp[A, B, O1, O2]

func (op *sequenceReceiver[A, B, O1, O2]) SetValue(A) {
	var second Operation
	if protect(func() { second = op.b.connect(&op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *sequenceReceiver[A, B, O1, O2]) SetError(err error) { op.r.SetError(err) }
func (op *sequenceReceiver[A, B, O1, O2]) SetStopped()        { op.r.SetStopped() }
func (op *sequenceReceiver[A, B, O1, O2]) Env() Env           { return op.r.Env() }
