package sender

import "github.com/reactord/reactord/sender/internal/aftergoexit"

// SequenceSlice does what [Sequence] does with any number of senders of one type. The operation state has storage for
// one child, which all of them use. The stack does not grow, however many of them complete inside Start. The slice must
// not change until the completion.
//
// Completion: with the value of the last sender, where that completes; with the zero value, inside Start, if there
// are none. The first error or stopped is forwarded unchanged.
//
// Cancellation: by the child that is running. A stop request between two children completes it stopped.
//
// Allocation: Connect allocates once for each operation state.
func SequenceSlice[T, O any, S Sender[T, O]](s []S) SequenceSliceSender[T, O, S] {
	return SequenceSliceSender[T, O, S]{s}
}

// SequenceSliceSender is the sender that [SequenceSlice] returns.
type SequenceSliceSender[T, O any, S Sender[T, O]] struct{ s []S }

// SequenceSliceOp is the operation state of [SequenceSliceSender].
type SequenceSliceOp[T, O any] struct {
	trampolined
	child O
	s     storedSlice[T, O]
	n     int // length of s
	next  int // index of the next child
	r     Receiver[T]
}

// Connect implements [Sender].
func (s SequenceSliceSender[T, O, S]) Connect(op *SequenceSliceOp[T, O], r Receiver[T]) Operation {
	op.s, op.n, op.r = storeSlice(op.s, s.s), len(s.s), r
	return op
}

// CompletionBehavior implements [CompletionDescriber]: what holds for any S.
func (s *SequenceSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionBehaviorOfType[S]()
}

// Start implements [Operation].
func (op *SequenceSliceOp[T, O]) Start() {
	if op.n == 0 {
		var zero T
		op.r.SetValue(zero)
		return
	}
	op.next = 0
	op.begin()
	op.run()
}

// run starts children until one does not complete inside Start, or is the last.
func (op *SequenceSliceOp[T, O]) run() {
	t, child := op.trampoline, (*sequenceSliceReceiver[T, O])(op)
	// A user's function may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.nextChild() {
			op.run()
		}
	})
	for {
		t.beginChild()
		var start Operation
		i := op.next
		op.next++
		if op.r.Env().StopToken().StopRequested() {
			child.SetStopped()
		} else if protect(func() { start = op.s.connect(i, &op.child, child) }, child.SetError) {
			start.Start()
		}
		// The operation may have completed, here or on another thread. From here on only t may be used.
		if !t.nextChild() {
			returned = true
			return
		}
	}
}

type sequenceSliceReceiver[T, O any] SequenceSliceOp[T, O]

func (r *sequenceSliceReceiver[T, O]) SetValue(v T) {
	op := (*SequenceSliceOp[T, O])(r)
	if op.next == op.n {
		op.finish()
		op.r.SetValue(v)
		return
	}
	if !op.trampoline.completeChild() {
		op.run()
	}
}

func (r *sequenceSliceReceiver[T, O]) SetError(err error) {
	r.finish()
	r.r.SetError(err)
}

func (r *sequenceSliceReceiver[T, O]) SetStopped() {
	r.finish()
	r.r.SetStopped()
}

func (r *sequenceSliceReceiver[T, O]) Env() Env { return r.r.Env() }
