package sender

// WhenAnySlice is WhenAny of any number of senders of one type. Of none it completes stopped. The
// slice is read by Connect only.
//
// Connect allocates the children's operation states, unless the operation state has had as many.
func WhenAnySlice[T, O any, P Operation[O], S Sender[T, O]](s []S) WhenAnySliceSender[T, O, P, S] {
	return WhenAnySliceSender[T, O, P, S]{s}
}

// WhenAnySliceSender is what WhenAnySlice returns.
type WhenAnySliceSender[T, O any, P Operation[O], S Sender[T, O]] struct{ s []S }

// WhenAnySliceOp is the operation state of WhenAnySlice.
type WhenAnySliceOp[T, O any, P Operation[O]] struct {
	race     race[T]
	children []O
}

// Connect implements Sender.
func (s WhenAnySliceSender[T, O, P, S]) Connect(op *WhenAnySliceOp[T, O, P], r Receiver[T]) {
	op.race.r = r
	if cap(op.children) < len(s.s) {
		op.children = make([]O, len(s.s))
	}
	op.children = op.children[:len(s.s)]
	for i := range s.s {
		s.s[i].Connect(&op.children[i], &op.race)
	}
}

// Completion implements Completer: what holds for any S.
func (s *WhenAnySliceSender[T, O, P, S]) Completion() Completion { return completionOfType[S]() }

// Start implements Operation.
func (op *WhenAnySliceOp[T, O, P]) Start() {
	children := op.children
	if len(children) == 0 {
		op.race.r.SetStopped()
		return
	}
	if op.race.begin(len(children)) {
		for i := range children {
			P(&children[i]).Start()
		}
	}
}
