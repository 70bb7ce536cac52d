package sender

import "sync/atomic"

// WhenAny starts both senders and completes with the first value or error; the other is asked to
// stop, and waited for. What it then completes with is dropped. If no sender has a result it
// completes stopped, and so it does, without starting any, if stop was requested before Start.
//
// Take care with senders whose value is a resource: the loser's has nobody to let go of it.
//
// Source: stdexec's exec::when_any.
func WhenAny[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) WhenAnySender[T, O1, O2, P1, P2, S1, S2] {
	return WhenAnySender[T, O1, O2, P1, P2, S1, S2]{a, b}
}

// WhenAnySender is what WhenAny returns.
type WhenAnySender[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// WhenAnyOp is the operation state of WhenAny.
type WhenAnyOp[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2]] struct {
	race race[T]
	a    O1
	b    O2
}

// Connect implements Sender.
func (s WhenAnySender[T, O1, O2, P1, P2, S1, S2]) Connect(op *WhenAnyOp[T, O1, O2, P1, P2], r Receiver[T]) {
	op.race.r = r
	s.a.Connect(&op.a, &op.race)
	s.b.Connect(&op.b, &op.race)
}

// Completion implements Completer.
func (s *WhenAnySender[T, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.a), CompletionOf(&s.b))
}

// Start implements Operation.
func (op *WhenAnyOp[T, O1, O2, P1, P2]) Start() {
	if op.race.begin(2) {
		P1(&op.a).Start()
		P2(&op.b).Start()
	}
}

// WhenAny3 is WhenAny of three senders.
func WhenAny3[
	T, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3],
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3],
](a S1, b S2, c S3) WhenAny3Sender[T, O1, O2, O3, P1, P2, P3, S1, S2, S3] {
	return WhenAny3Sender[T, O1, O2, O3, P1, P2, P3, S1, S2, S3]{a, b, c}
}

// WhenAny3Sender is what WhenAny3 returns.
type WhenAny3Sender[
	T, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3],
	S1 Sender[T, O1], S2 Sender[T, O2], S3 Sender[T, O3],
] struct {
	a S1
	b S2
	c S3
}

// WhenAny3Op is the operation state of WhenAny3.
type WhenAny3Op[T, O1, O2, O3 any, P1 Operation[O1], P2 Operation[O2], P3 Operation[O3]] struct {
	race race[T]
	a    O1
	b    O2
	c    O3
}

// Connect implements Sender.
func (s WhenAny3Sender[T, O1, O2, O3, P1, P2, P3, S1, S2, S3]) Connect(
	op *WhenAny3Op[T, O1, O2, O3, P1, P2, P3], r Receiver[T],
) {
	op.race.r = r
	s.a.Connect(&op.a, &op.race)
	s.b.Connect(&op.b, &op.race)
	s.c.Connect(&op.c, &op.race)
}

// Start implements Operation.
func (op *WhenAny3Op[T, O1, O2, O3, P1, P2, P3]) Start() {
	if op.race.begin(3) {
		P1(&op.a).Start()
		P2(&op.b).Start()
		P3(&op.c).Start()
	}
}

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

// race is a group whose first result wins. It is the receiver of each of its children.
type race[T any] struct {
	group   group
	r       Receiver[T]
	decided atomic.Bool
	result  result[T] // written by whoever decided
}

// begin is group.begin.
func (x *race[T]) begin(n int) bool {
	x.decided.Store(false)
	return x.group.begin(x, x.r.Env(), n)
}

// arrive is a child's value or error. The child counts as pending until the others have been asked
// to stop, so that the operation cannot end under RequestStop when they complete at once.
func (x *race[T]) arrive(result result[T]) {
	if x.decided.CompareAndSwap(false, true) {
		x.result = result
		x.group.children.RequestStop()
	}
	x.group.leave()
}

func (x *race[T]) finish() {
	won := x.result
	x.result = result[T]{}
	won.deliver(x.r)
}

func (x *race[T]) SetValue(v T)       { x.arrive(valueOf(v)) }
func (x *race[T]) SetError(err error) { x.arrive(errorOf[T](err)) }
func (x *race[T]) SetStopped()        { x.group.leave() }
func (x *race[T]) Env() Env           { return &x.group }
