package sender

import (
	"errors"
	"sync"
	"sync/atomic"
)

// FirstSuccess returns a sender that starts a and b, and completes with the first value. It differs from [WhenAny] in
// that an error does not decide.
//
// Completion: where the last child completes. When a child has a value, the other is requested to stop and waited for,
// and what it completes with is dropped. If no child has a value, the errors are delivered, joined in the order in
// which they came; without any, it completes stopped.
//
// Cancellation: a stop request is forwarded to both. If stop was requested before Start, neither is started and it
// completes stopped.
//
// Allocation: only to keep errors.
//
// If the second value holds a resource, such as a descriptor, the value is dropped and the resource leaks.
//
// Source: libunifex's first_successful; Promise.any of ECMAScript.
func FirstSuccess[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) FirstSuccessSender[T, O1, O2, S1, S2] {
	return FirstSuccessSender[T, O1, O2, S1, S2]{a, b}
}

// FirstSuccessSender is the sender that [FirstSuccess] returns.
type FirstSuccessSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// FirstSuccessOp is the operation state of [FirstSuccessSender].
type FirstSuccessOp[T, O1, O2 any] struct {
	race   successRace[T]
	a      O1
	b      O2
	starts [2]Operation
}

// Connect implements [Sender].
func (s FirstSuccessSender[T, O1, O2, S1, S2]) Connect(op *FirstSuccessOp[T, O1, O2], r Receiver[T]) Operation {
	op.race.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.race)
	op.starts[1] = s.b.Connect(&op.b, &op.race)
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *FirstSuccessSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements [Operation].
func (op *FirstSuccessOp[T, O1, O2]) Start() { op.race.start(op.starts[:]) }

// FirstSuccessSlice does what [FirstSuccess] does with any number of senders of one type. With no senders it completes
// stopped. Only Connect reads the slice.
//
// Allocation: Connect allocates the operation states of the children, unless the operation state has had as many
// before; errors are kept.
func FirstSuccessSlice[T, O any, S Sender[T, O]](s []S) FirstSuccessSliceSender[T, O, S] {
	return FirstSuccessSliceSender[T, O, S]{s}
}

// FirstSuccessSliceSender is the sender that [FirstSuccessSlice] returns.
type FirstSuccessSliceSender[T, O any, S Sender[T, O]] struct{ s []S }

// FirstSuccessSliceOp is the operation state of [FirstSuccessSliceSender].
type FirstSuccessSliceOp[T, O any] struct {
	race     successRace[T]
	children children[O]
}

// Connect implements [Sender].
func (s FirstSuccessSliceSender[T, O, S]) Connect(op *FirstSuccessSliceOp[T, O], r Receiver[T]) Operation {
	op.race.r = r
	op.children.resize(len(s.s))
	for i := range s.s {
		op.children.starts[i] = s.s[i].Connect(&op.children.ops[i], &op.race)
	}
	return op
}

// CompletionBehavior implements [CompletionDescriber]: what holds for any S.
func (s *FirstSuccessSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionBehaviorOfType[S]()
}

// Start implements [Operation].
func (op *FirstSuccessSliceOp[T, O]) Start() {
	if len(op.children.starts) == 0 {
		op.race.r.SetStopped()
		return
	}
	op.race.start(op.children.starts)
}

// successRace is a Group whose first value is delivered. It is the receiver of each of its children.
type successRace[T any] struct {
	group   Group
	r       Receiver[T]
	decided atomic.Bool
	value   T // written by the child that decided
	mu      sync.Mutex
	errs    []error // guarded by mu
}

func (x *successRace[T]) start(children []Operation) {
	x.decided.Store(false)
	if x.group.Begin(x, x.r.Env(), len(children)) {
		startAll(children)
	}
}

// SetValue decides. The first child that decides counts as pending until the others have been requested to stop: so
// the operation cannot complete, and be reused, inside RequestStop.
func (x *successRace[T]) SetValue(v T) {
	if x.decided.CompareAndSwap(false, true) {
		x.value = v
		x.group.requestStopThen(x.group.Arrive)
		return
	}
	x.group.Arrive()
}

func (x *successRace[T]) SetError(err error) {
	if !causedByStop(x.group.StopToken(), err) {
		x.mu.Lock()
		x.errs = append(x.errs, err)
		x.mu.Unlock()
	}
	x.group.Arrive()
}

func (x *successRace[T]) SetStopped() { x.group.Arrive() }
func (x *successRace[T]) Env() Env    { return &x.group }

// OnJoined completes the operation. It keeps nothing reachable.
func (x *successRace[T]) OnJoined() {
	var zero T
	v, errs := x.value, x.errs
	x.value, x.errs = zero, nil
	switch {
	case x.decided.Load():
		x.r.SetValue(v)
	case len(errs) == 1:
		x.r.SetError(errs[0])
	case len(errs) > 1:
		x.r.SetError(errors.Join(errs...))
	default:
		x.r.SetStopped()
	}
}
