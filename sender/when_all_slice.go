package sender

// WhenAllSlice is WhenAll of any number of senders of one type: it completes with their values in
// order, and of none, inside Start, with none. The slice is read by Connect only.
//
// Connect allocates the children's operation states, unless the operation state has had as many; the
// completion allocates the slice of values.
func WhenAllSlice[T, O any, P Operation[O], S Sender[T, O]](s []S) WhenAllSliceSender[T, O, P, S] {
	return WhenAllSliceSender[T, O, P, S]{s}
}

// WhenAllSliceSender is what WhenAllSlice returns.
type WhenAllSliceSender[T, O any, P Operation[O], S Sender[T, O]] struct{ s []S }

// WhenAllSliceOp is the operation state of WhenAllSlice.
type WhenAllSliceOp[T, O any, P Operation[O]] struct {
	join     join
	parts    []part[T]
	children []O
	r        Receiver[[]T]
}

// Connect implements Sender.
func (s WhenAllSliceSender[T, O, P, S]) Connect(op *WhenAllSliceOp[T, O, P], r Receiver[[]T]) {
	op.r = r
	n := len(s.s)
	if cap(op.children) < n {
		op.children, op.parts = make([]O, n), make([]part[T], n)
	}
	op.children, op.parts = op.children[:n], op.parts[:n]
	for i := range s.s {
		s.s[i].Connect(&op.children[i], op.parts[i].of(&op.join))
	}
}

// Completion implements Completer: what holds for any S.
func (s *WhenAllSliceSender[T, O, P, S]) Completion() Completion { return completionOfType[S]() }

// Start implements Operation.
func (op *WhenAllSliceOp[T, O, P]) Start() {
	children := op.children
	if len(children) == 0 {
		op.r.SetValue(nil)
		return
	}
	if op.join.begin((*whenAllSlice[T, O, P])(op), op.r.Env(), len(children)) {
		for i := range children {
			P(&children[i]).Start()
		}
	}
}

// whenAllSlice is the operation as what its children are joined for.
type whenAllSlice[T, O any, P Operation[O]] WhenAllSliceOp[T, O, P]

func (op *whenAllSlice[T, O, P]) Finish() {
	var values []T
	if op.join.state.Load() == running {
		values = make([]T, len(op.parts))
	}
	for i := range op.parts {
		if v := op.parts[i].take(); values != nil {
			values[i] = v
		}
	}
	settle(&op.join, values, op.r)
}
