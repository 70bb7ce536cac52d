package sender

import "sync/atomic"

// WhenAny starts both senders and completes with the first value or error; the other is asked to
// stop, and waited for. What it then completes with is dropped. If no sender has a result it
// completes stopped, and so it does, without starting any, if stop was requested before Start. A later
// request is forwarded to both. It completes where the last child does. Nothing is allocated.
//
// Take care with senders whose value is a resource: the loser's has nobody to let go of it.
//
// Source: stdexec's exec::when_any.
func WhenAny[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) WhenAnySender[T, O1, O2, S1, S2] {
	return WhenAnySender[T, O1, O2, S1, S2]{a, b}
}

// WhenAnySender is what WhenAny returns.
type WhenAnySender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// WhenAnyOp is the operation state of WhenAny.
type WhenAnyOp[T, O1, O2 any] struct {
	race   race[T]
	a      O1
	b      O2
	starts [2]Operation
}

// Connect implements Sender.
func (s WhenAnySender[T, O1, O2, S1, S2]) Connect(op *WhenAnyOp[T, O1, O2], r Receiver[T]) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAnySender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements Operation.
func (op *WhenAnyOp[T, O1, O2]) Start() {
	if op.race.begin(2) {
		startAll(op.starts[:])
	}
}

// race is a Group whose first result wins. It is the receiver of each of its children.
type race[T any] struct {
	group   Group
	r       Receiver[T]
	decided atomic.Bool
	result  result[T] // written by whoever decided
}

// begin is Group.Begin.
func (x *race[T]) begin(n int) bool {
	x.decided.Store(false)
	return x.group.Begin(x, x.r.Env(), n)
}

// arrive is a child's value or error. The child counts as pending until the others have been asked
// to stop, so that the operation cannot end under RequestStop when they complete at once.
func (x *race[T]) arrive(result result[T]) {
	if x.decided.CompareAndSwap(false, true) {
		x.result = result
		x.group.stopThen(x.group.Leave)
		return
	}
	x.group.Leave()
}

func (x *race[T]) Finish() {
	won := x.result
	x.result = result[T]{}
	won.deliver(x.r)
}

func (x *race[T]) SetValue(v T) { x.arrive(valueOf(v)) }
func (x *race[T]) SetError(err error) {
	if result := failureOf[T](&x.group, err); result.channel == onError {
		x.arrive(result)
		return
	}
	x.SetStopped()
}
func (x *race[T]) SetStopped() { x.group.Leave() }
func (x *race[T]) Env() Env    { return &x.group }
