package sender

// Sequence returns a sender that starts b when a has completed with a value. The value of a is dropped. b is
// connected after a has completed.
//
// Completion: as and where b completes; where a completes if a has no value. Errors and stopped of a are forwarded
// unchanged. A panic of b's Connect completes it with a [*PanicError].
//
// Cancellation: by the operation that is running, a or b.
//
// Allocation: Connect allocates a copy of b, once for each operation state.
//
// Source: D2006R1 Appendix B, example 3.
func Sequence[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]](
	a S1, b S2,
) SequenceSender[A, B, O1, O2, S1, S2] {
	return SequenceSender[A, B, O1, O2, S1, S2]{a, b}
}

// SequenceSender is the sender that [Sequence] returns.
type SequenceSender[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]] struct {
	a S1
	b S2
}

// SequenceOp is the operation state of [SequenceSender].
type SequenceOp[A, B, O1, O2 any] struct {
	first  O1
	second O2
	b      storedSender[B, O2]
	r      Receiver[B]
}

// Connect implements [Sender].
func (s SequenceSender[A, B, O1, O2, S1, S2]) Connect(op *SequenceOp[A, B, O1, O2], r Receiver[B]) Operation {
	op.b, op.r = store(op.b, s.b), r
	return s.a.Connect(&op.first, (*sequenceReceiver[A, B, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
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
