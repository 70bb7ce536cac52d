package sender

import "github.com/reactord/reactord/sender/internal/aftergoexit"

// WhenAllSlice is WhenAll of any number of senders of one type, of which at most bound are in progress at once;
// all of them if it is 0 or less. They are started in order, each when there is room for it: where an
// earlier one completed, or where one is being started at that moment. It completes with their values in
// order, and of none, inside Start, with none. The slice is read by Connect only.
//
// Connect allocates the children's operation states, unless the operation state has had as many; the
// completion allocates the slice of values. However many senders complete at once, the stack does not
// grow.
func WhenAllSlice[T, O any, S Sender[T, O]](s []S, bound int) WhenAllSliceSender[T, O, S] {
	return WhenAllSliceSender[T, O, S]{s, bound}
}

// WhenAllSliceSender is what WhenAllSlice returns.
type WhenAllSliceSender[T, O any, S Sender[T, O]] struct {
	s     []S
	bound int
}

// WhenAllSliceOp is the operation state of WhenAllSlice.
type WhenAllSliceOp[T, O any] struct {
	all      allSlice[T]
	children children[O]
	bound    int
}

// Connect implements Sender.
func (s WhenAllSliceSender[T, O, S]) Connect(op *WhenAllSliceOp[T, O], r Receiver[[]T]) Operation {
	n := len(s.s)
	op.all.r, op.bound = r, s.bound
	op.children.make(n)
	if cap(op.all.parts) < n {
		op.all.parts = make([]slicePart[T], n)
	}
	op.all.parts = op.all.parts[:n]
	for i := range s.s {
		op.children.starts[i] = s.s[i].Connect(&op.children.ops[i], op.all.parts[i].of(&op.all))
	}
	return op
}

// CompletionBehavior implements CompletionDescriber: what holds for any S.
func (s *WhenAllSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionOfType[S]()
}

// Start implements Operation.
func (op *WhenAllSliceOp[T, O]) Start() {
	n := len(op.children.starts)
	if n == 0 {
		op.all.r.SetValue(nil)
		return
	}
	x := &op.all
	if x.limited = op.bound > 0 && op.bound < n; !x.limited {
		if x.join.begin(x, x.r.Env(), n) {
			startAll(op.children.starts)
		}
	} else if x.join.begin(x, x.r.Env(), n+1) {
		x.bounded.Start(&x.join.group, x, op.children.starts, op.bound)
	}
}

// children are the states of children of one type, and what starts them.
type children[O any] struct {
	ops    []O
	starts []Operation
}

// make makes room for n, or takes what there is.
func (c *children[O]) make(n int) {
	if cap(c.ops) < n {
		c.ops, c.starts = make([]O, n), make([]Operation, n)
	}
	c.ops, c.starts = c.ops[:n], c.starts[:n]
}

// allSlice is WhenAllSlice without its children.
type allSlice[T any] struct {
	join    join
	limited bool
	bounded Bounded // if limited
	parts   []slicePart[T]
	r       Receiver[[]T]
}

// Skip implements Skipper.
func (x *allSlice[T]) Skip() { x.join.halted(func() {}) }

func (x *allSlice[T]) Finish() {
	var values []T
	if x.join.state.Load() == running {
		values = make([]T, len(x.parts))
	}
	for i := range x.parts {
		if v := x.parts[i].part.take(); values != nil {
			values[i] = v
		}
	}
	settle(&x.join, values, x.r)
}

// slicePart is the receiver of one child. It makes room for the next before it leaves.
type slicePart[T any] struct {
	part part[T]
	all  *allSlice[T]
}

// of is p as a part of x.
func (p *slicePart[T]) of(x *allSlice[T]) *slicePart[T] {
	p.part.join, p.all = &x.join, x
	return p
}

func (p *slicePart[T]) leave() {
	if p.all.limited {
		// A function of a child's that is started here may end this frame by runtime.Goexit.
		returned := false
		defer aftergoexit.Run(&returned, p.all.join.group.Leave)
		p.all.bounded.Left()
		returned = true
	}
	p.all.join.group.Leave()
}

func (p *slicePart[T]) SetValue(v T) {
	p.part.value = v
	p.leave()
}

func (p *slicePart[T]) SetError(err error) { p.all.join.failed(err, p.leave) }
func (p *slicePart[T]) SetStopped()        { p.all.join.halted(p.leave) }
func (p *slicePart[T]) Env() Env           { return &p.all.join.group }
