package sender

// WhenAllSlice does what [WhenAll] does with any number of senders of one type, of which at most limit are in flight; 0
// or less: all of them. They are started in order. When one completes, the next is started on that thread. The stack
// does not grow, however many of them complete inside Start. Only Connect reads the slice.
//
// Completion: with the values in the order of the senders; with none, inside Start, if there are no senders.
//
// Cancellation: as WhenAll. After a stop request no further sender is started.
//
// Allocation: Connect allocates the operation states of the children, unless the operation state has had as many
// before. The completion allocates the slice of values.
func WhenAllSlice[T, O any, S Sender[T, O]](s []S, limit int) WhenAllSliceSender[T, O, S] {
	return WhenAllSliceSender[T, O, S]{s, limit}
}

// WhenAllSliceSender is the sender that [WhenAllSlice] returns.
type WhenAllSliceSender[T, O any, S Sender[T, O]] struct {
	s     []S
	limit int
}

// WhenAllSliceOp is the operation state of [WhenAllSliceSender].
type WhenAllSliceOp[T, O any] struct {
	all      allSlice[T]
	children children[O]
	limit    int
}

// Connect implements [Sender].
func (s WhenAllSliceSender[T, O, S]) Connect(op *WhenAllSliceOp[T, O], r Receiver[[]T]) Operation {
	n := len(s.s)
	op.all.r, op.limit = r, s.limit
	op.children.resize(n)
	if cap(op.all.receivers) < n {
		op.all.receivers = make([]sliceReceiver[T], n)
	}
	op.all.receivers = op.all.receivers[:n]
	for i := range s.s {
		op.children.starts[i] = s.s[i].Connect(&op.children.ops[i], op.all.receivers[i].init(&op.all))
	}
	return op
}

// CompletionBehavior implements [CompletionDescriber]: what holds for any S.
func (s *WhenAllSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionBehaviorOfType[S]()
}

// Start implements [Operation].
func (op *WhenAllSliceOp[T, O]) Start() {
	n := len(op.children.starts)
	if n == 0 {
		op.all.r.SetValue(nil)
		return
	}
	x := &op.all
	if x.limited = op.limit > 0 && op.limit < n; !x.limited {
		if x.join.begin(x, x.r.Env(), n) {
			startAll(op.children.starts)
		}
	} else if x.join.begin(x, x.r.Env(), n+1) {
		x.limiter.Start(&x.join.group, x, op.children.starts, op.limit)
	}
}

// children are the operation states of children of one type, and what starts them.
type children[O any] struct {
	ops    []O
	starts []Operation
}

// resize makes room for n children. It reuses the memory that c has.
func (c *children[O]) resize(n int) {
	if cap(c.ops) < n {
		c.ops, c.starts = make([]O, n), make([]Operation, n)
	}
	c.ops, c.starts = c.ops[:n], c.starts[:n]
}

// allSlice is WhenAllSlice without its children.
type allSlice[T any] struct {
	join      join
	limited   bool // the limiter starts the children
	limiter   Limiter
	receivers []sliceReceiver[T]
	r         Receiver[[]T]
}

// OnSkip implements SkipHandler.
func (x *allSlice[T]) OnSkip() { x.join.childStopped(func() {}) }

// OnJoined completes the operation.
func (x *allSlice[T]) OnJoined() {
	var values []T
	if x.join.state.Load() == joinValues {
		values = make([]T, len(x.receivers))
	}
	for i := range x.receivers {
		if v := x.receivers[i].child.take(); values != nil {
			values[i] = v
		}
	}
	deliverJoin(&x.join, values, x.r)
}

// sliceReceiver is the receiver of one child.
type sliceReceiver[T any] struct {
	child joinReceiver[T]
	all   *allSlice[T]
}

// init makes x the receiver of a child of all.
func (x *sliceReceiver[T]) init(all *allSlice[T]) *sliceReceiver[T] {
	x.child.join, x.all = &all.join, all
	return x
}

func (x *sliceReceiver[T]) arrive() {
	if x.all.limited {
		x.all.limiter.Arrive()
	} else {
		x.all.join.group.Arrive()
	}
}

func (x *sliceReceiver[T]) SetValue(v T) {
	x.child.value = v
	x.arrive()
}

func (x *sliceReceiver[T]) SetError(err error) { x.all.join.childFailed(err, x.arrive) }
func (x *sliceReceiver[T]) SetStopped()        { x.all.join.childStopped(x.arrive) }
func (x *sliceReceiver[T]) Env() Env           { return &x.all.join.group }
