package sender

import "sync/atomic"

// WhenAny returns a sender that starts a and b, and completes with the first value or error. For more senders nest
// it, or use [WhenAnySlice].
//
// Completion: where the last child completes. When a child has decided the result, the other is requested to stop and
// waited for, and what it completes with is dropped. If both are stopped, it completes stopped.
//
// Cancellation: a stop request is forwarded to both. If stop was requested before Start, neither is started and it
// completes stopped.
//
// If the second value holds a resource, such as a descriptor, the value is dropped and the resource leaks.
//
// Source: stdexec's exec::when_any.
func WhenAny[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) WhenAnySender[T, O1, O2, S1, S2] {
	return WhenAnySender[T, O1, O2, S1, S2]{a, b}
}

// WhenAnySender is the sender that [WhenAny] returns.
type WhenAnySender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// WhenAnyOp is the operation state of [WhenAnySender].
type WhenAnyOp[T, O1, O2 any] struct {
	race   race[T]
	a      O1
	b      O2
	starts [2]Operation
}

// Connect implements [Sender].
func (s WhenAnySender[T, O1, O2, S1, S2]) Connect(op *WhenAnyOp[T, O1, O2], r Receiver[T]) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *WhenAnySender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements [Operation].
func (op *WhenAnyOp[T, O1, O2]) Start() {
	if op.race.begin(2) {
		startAll(op.starts[:])
	}
}

// race is a Group whose first value or error is delivered. It is the receiver of each of its children.
type race[T any] struct {
	group   Group
	r       Receiver[T]
	decided atomic.Bool
	result  Completion[T] // written by the child that decided
}

// begin calls Group.Begin for n children.
func (x *race[T]) begin(n int) bool {
	x.decided.Store(false)
	x.result.Channel = OnStopped // if no child decides
	return x.group.Begin(x, x.r.Env(), n)
}

// decide takes a child's value or error as the result, unless another child was first. The child that decides counts as
// pending until the others have been requested to stop: so the operation cannot complete, and be reused, inside
// RequestStop.
func (x *race[T]) decide(c Completion[T]) {
	if x.decided.CompareAndSwap(false, true) {
		x.result = c
		x.group.requestStopThen(x.group.Arrive)
		return
	}
	x.group.Arrive()
}

// OnJoined completes the operation. It keeps nothing reachable.
func (x *race[T]) OnJoined() {
	c := x.result
	x.result = Completion[T]{}
	c.Deliver(x.r)
}

func (x *race[T]) SetValue(v T) { x.decide(CompletionValue(v)) }

func (x *race[T]) SetError(err error) {
	if c := childFailure[T](&x.group, err); c.Channel == OnError {
		x.decide(c)
		return
	}
	x.SetStopped()
}

func (x *race[T]) SetStopped() { x.group.Arrive() }
func (x *race[T]) Env() Env    { return &x.group }
