package sender

import "github.com/reactord/reactord/sender/internal/aftergoexit"

// SequenceSlice is Sequence of any number of senders of one type: it completes with the value of the
// last, and of none with the zero value. A stop request that comes between two of them ends it. It has
// storage for one child only, which they use one after another. Connect allocates as that of Sequence.
//
// The slice must not change until the completion. However many senders complete at once, the stack
// does not grow.
func SequenceSlice[T, O any, S Sender[T, O]](s []S) SequenceSliceSender[T, O, S] {
	return SequenceSliceSender[T, O, S]{s}
}

// SequenceSliceSender is what SequenceSlice returns.
type SequenceSliceSender[T, O any, S Sender[T, O]] struct{ s []S }

// SequenceSliceOp is the operation state of SequenceSlice.
type SequenceSliceOp[T, O any] struct {
	rounds
	child O
	s     senders[T, O]
	n     int // of s
	next  int
	r     Receiver[T]
}

// Connect implements Sender.
func (s SequenceSliceSender[T, O, S]) Connect(op *SequenceSliceOp[T, O], r Receiver[T]) Operation {
	op.s, op.n, op.r = list(op.s, s.s), len(s.s), r
	return op
}

// CompletionBehavior implements CompletionDescriber: what holds for any S.
func (s *SequenceSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionOfType[S]()
}

// Start implements Operation.
func (op *SequenceSliceOp[T, O]) Start() {
	if op.n == 0 {
		var zero T
		op.r.SetValue(zero)
		return
	}
	op.next = 0
	op.start()
	op.run()
}

// run starts one child after another until one does not complete at once, or is the last.
func (op *SequenceSliceOp[T, O]) run() {
	t, child := op.turn, (*sequenceSliceReceiver[T, O])(op)
	// A function of the user's may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.again() {
			op.run()
		}
	})
	for {
		t.begin()
		var start Operation
		i := op.next
		op.next++
		if op.r.Env().StopToken().StopRequested() {
			child.SetStopped()
		} else if protect(func() { start = op.s.connect(i, &op.child, child) }, child.SetError) {
			start.Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			returned = true
			return
		}
	}
}

// senders is a slice of senders; it hides their type, as kept does.
type senders[T, O any] interface {
	connect(i int, op *O, r Receiver[T]) Operation
}

// list is keep for a slice.
func list[T, O any, S Sender[T, O]](before senders[T, O], s []S) senders[T, O] {
	room, ok := before.(*senderSlice[T, O, S])
	if !ok {
		room = new(senderSlice[T, O, S])
	}
	room.s = s
	return room
}

type senderSlice[T, O any, S Sender[T, O]] struct{ s []S }

func (l *senderSlice[T, O, S]) connect(i int, op *O, r Receiver[T]) Operation {
	return l.s[i].Connect(op, r)
}

type sequenceSliceReceiver[T, O any] SequenceSliceOp[T, O]

func (r *sequenceSliceReceiver[T, O]) SetValue(v T) {
	op := (*SequenceSliceOp[T, O])(r)
	if op.next == op.n {
		op.end()
		op.r.SetValue(v)
		return
	}
	if !op.turn.hand() {
		op.run()
	}
}

func (r *sequenceSliceReceiver[T, O]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *sequenceSliceReceiver[T, O]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *sequenceSliceReceiver[T, O]) Env() Env { return r.r.Env() }
