package sender

import (
	"errors"
	"sync"
	"sync/atomic"
)

// FirstSuccess starts both senders and completes with the first value; the other is asked to stop, and waited
// for. Where WhenAny takes the first result, be it an error, this one passes over senders that fail: it
// fails when none has a value, with the errors of all that failed, joined in the order in which they
// came; if none failed either, it completes stopped. If stop was requested before Start it completes
// stopped and starts none; a later request is forwarded to both. It completes where the last child does.
// Nothing is allocated but to keep errors.
//
// Take care with senders whose value is a resource: the loser's has nobody to let go of it.
//
// Source: libunifex's first_successful; Promise.any of ECMAScript.
func FirstSuccess[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	a S1, b S2,
) FirstSuccessSender[T, O1, O2, S1, S2] {
	return FirstSuccessSender[T, O1, O2, S1, S2]{a, b}
}

// FirstSuccessSender is what FirstSuccess returns.
type FirstSuccessSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	a S1
	b S2
}

// FirstSuccessOp is the operation state of FirstSuccess.
type FirstSuccessOp[T, O1, O2 any] struct {
	contest contest[T]
	a       O1
	b       O2
	starts  [2]Operation
}

// Connect implements Sender.
func (s FirstSuccessSender[T, O1, O2, S1, S2]) Connect(op *FirstSuccessOp[T, O1, O2], r Receiver[T]) Operation {
	op.contest.r = r
	op.starts[0] = s.a.Connect(&op.a, &op.contest)
	op.starts[1] = s.b.Connect(&op.b, &op.contest)
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *FirstSuccessSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements Operation.
func (op *FirstSuccessOp[T, O1, O2]) Start() { op.contest.start(op.starts[:]) }

// FirstSuccessSlice is FirstSuccess of any number of senders of one type. Of none it completes stopped. The
// slice is read by Connect only.
//
// Connect allocates the children's operation states, unless the operation state has had as many.
func FirstSuccessSlice[T, O any, S Sender[T, O]](s []S) FirstSuccessSliceSender[T, O, S] {
	return FirstSuccessSliceSender[T, O, S]{s}
}

// FirstSuccessSliceSender is what FirstSuccessSlice returns.
type FirstSuccessSliceSender[T, O any, S Sender[T, O]] struct{ s []S }

// FirstSuccessSliceOp is the operation state of FirstSuccessSlice.
type FirstSuccessSliceOp[T, O any] struct {
	contest  contest[T]
	children children[O]
}

// Connect implements Sender.
func (s FirstSuccessSliceSender[T, O, S]) Connect(op *FirstSuccessSliceOp[T, O], r Receiver[T]) Operation {
	op.contest.r = r
	op.children.make(len(s.s))
	for i := range s.s {
		op.children.starts[i] = s.s[i].Connect(&op.children.ops[i], &op.contest)
	}
	return op
}

// CompletionBehavior implements CompletionDescriber: what holds for any S.
func (s *FirstSuccessSliceSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return completionOfType[S]()
}

// Start implements Operation.
func (op *FirstSuccessSliceOp[T, O]) Start() {
	if len(op.children.starts) == 0 {
		op.contest.r.SetStopped()
		return
	}
	op.contest.start(op.children.starts)
}

// contest is a Group whose first value wins. It is the receiver of each of its children.
type contest[T any] struct {
	group   Group
	r       Receiver[T]
	decided atomic.Bool
	value   T // written by whoever decided
	mu      sync.Mutex
	errs    []error // guarded by mu
}

func (x *contest[T]) start(children []Operation) {
	x.decided.Store(false)
	if x.group.Begin(x, x.r.Env(), len(children)) {
		startAll(children)
	}
}

// SetValue decides. The child counts as pending until the others have been asked to stop, so that the
// operation cannot end under RequestStop when they complete at once.
func (x *contest[T]) SetValue(v T) {
	if x.decided.CompareAndSwap(false, true) {
		x.value = v
		x.group.stopThen(x.group.Leave)
		return
	}
	x.group.Leave()
}

func (x *contest[T]) SetError(err error) {
	if !heeds(x.group.StopToken(), err) {
		x.mu.Lock()
		x.errs = append(x.errs, err)
		x.mu.Unlock()
	}
	x.group.Leave()
}

func (x *contest[T]) SetStopped() { x.group.Leave() }
func (x *contest[T]) Env() Env    { return &x.group }

// Finish completes the operation. Nothing is left in it for the garbage collector.
func (x *contest[T]) Finish() {
	var none T
	v, errs := x.value, x.errs
	x.value, x.errs = none, nil
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
