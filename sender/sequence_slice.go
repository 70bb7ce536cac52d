package sender

// SequenceSlice is Sequence of any number of senders of one type: it completes with the value of the
// last, and of none with the zero value. A stop request that comes between two of them ends it. It has
// storage for one child only, which they use in turn. Nothing is allocated.
//
// The slice must not change until the completion. However many senders complete at once, the stack
// does not grow.
func SequenceSlice[T, O any, P Operation[O], S Sender[T, O]](s []S) SequenceSliceSender[T, O, P, S] {
	return SequenceSliceSender[T, O, P, S]{s}
}

// SequenceSliceSender is what SequenceSlice returns.
type SequenceSliceSender[T, O any, P Operation[O], S Sender[T, O]] struct{ s []S }

// SequenceSliceOp is the operation state of SequenceSlice.
type SequenceSliceOp[T, O any, P Operation[O], S Sender[T, O]] struct {
	rounds
	child O
	s     []S
	next  int // of s
	r     Receiver[T]
}

// Connect implements Sender.
func (s SequenceSliceSender[T, O, P, S]) Connect(op *SequenceSliceOp[T, O, P, S], r Receiver[T]) {
	op.s, op.r = s.s, r
}

// Completion implements Completer: what holds for any S.
func (s *SequenceSliceSender[T, O, P, S]) Completion() Completion { return completionOfType[S]() }

// Start implements Operation.
func (op *SequenceSliceOp[T, O, P, S]) Start() {
	if len(op.s) == 0 {
		var zero T
		op.r.SetValue(zero)
		return
	}
	op.next = 0
	op.start()
	op.run()
}

// run starts one child after another until one does not complete at once, or is the last.
func (op *SequenceSliceOp[T, O, P, S]) run() {
	t, child := op.turn, (*sequenceSliceReceiver[T, O, P, S])(op)
	for {
		t.begin()
		s := op.s[op.next]
		op.next++
		if op.r.Env().StopToken().StopRequested() {
			child.SetStopped()
		} else if err := protect(func() { s.Connect(&op.child, child) }); err != nil {
			child.SetError(err)
		} else {
			P(&op.child).Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			return
		}
	}
}

type sequenceSliceReceiver[T, O any, P Operation[O], S Sender[T, O]] SequenceSliceOp[T, O, P, S]

func (r *sequenceSliceReceiver[T, O, P, S]) SetValue(v T) {
	op := (*SequenceSliceOp[T, O, P, S])(r)
	if op.next == len(op.s) {
		op.end()
		op.r.SetValue(v)
		return
	}
	if !op.turn.hand() {
		op.run()
	}
}

func (r *sequenceSliceReceiver[T, O, P, S]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *sequenceSliceReceiver[T, O, P, S]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *sequenceSliceReceiver[T, O, P, S]) Env() Env { return r.r.Env() }
