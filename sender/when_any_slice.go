package sender

// WhenAnySlice does what [WhenAny] does with any number of senders of one type. With no senders it completes stopped.
// Only Connect reads the slice.
//
// Allocation: Connect allocates the operation states of the children, unless the operation state has had as many
// before.
func WhenAnySlice[T, O any, S Sender[T, O]](s []S) WhenAnySliceSender[T, O, S] {
	return WhenAnySliceSender[T, O, S]{s}
}

// WhenAnySliceSender is the sender that [WhenAnySlice] returns.
type WhenAnySliceSender[T, O any, S Sender[T, O]] struct{ s []S }

// WhenAnySliceOp is the operation state of [WhenAnySliceSender].
type WhenAnySliceOp[T, O any] struct {
	race     race[T]
	children children[O]
}

// Connect implements [Sender].
func (s WhenAnySliceSender[T, O, S]) Connect(op *WhenAnySliceOp[T, O], r Receiver[T]) Operation {
	op.race.r = r
	op.children.resize(len(s.s))
	for i := range s.s {
		op.children.starts[i] = s.s[i].Connect(&op.children.ops[i], &op.race)
	}
	return op
}

// CompletionBehavior implements [CompletionDescriber]: what holds for any S.
func (s *WhenAnySliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionBehaviorOfType[S]()
}

// Start implements [Operation].
func (op *WhenAnySliceOp[T, O]) Start() {
	if len(op.children.starts) == 0 {
		op.race.r.SetStopped()
		return
	}
	if op.race.begin(len(op.children.starts)) {
		startAll(op.children.starts)
	}
}
