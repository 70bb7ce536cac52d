package sender

import "sync/atomic"

// All2 is the value of [WhenAll].
type All2[A, B any] struct {
	A A
	B B
}

// WhenAll returns a sender that starts a and b, and completes with both values. For more senders of different types
// nest it, for senders of one type use [WhenAllSlice].
//
// Completion: where the last child completes. If a child fails or is stopped, the other is requested to stop and waited
// for, and what it completes with is dropped. The first error is delivered; without one, it completes stopped.
//
// Cancellation: a stop request is forwarded to both. If they complete with values in spite of it, these are
// delivered. If stop was requested before Start, neither is started and it completes stopped.
//
// If a value holds a resource, such as a descriptor, and the other child fails, the value is dropped and the resource
// leaks.
//
// Source: P2300R10 [exec.when.all].
func WhenAll[
	A, B, O1, O2 any,
	S1 Sender[A, O1], S2 Sender[B, O2],
](a S1, b S2) WhenAllSender[A, B, O1, O2, S1, S2] {
	return WhenAllSender[A, B, O1, O2, S1, S2]{a, b}
}

// WhenAllSender is the sender that [WhenAll] returns.
type WhenAllSender[
	A, B, O1, O2 any,
	S1 Sender[A, O1], S2 Sender[B, O2],
] struct {
	a S1
	b S2
}

// WhenAllOp is the operation state of [WhenAllSender].
type WhenAllOp[A, B, O1, O2 any] struct {
	all    all2[A, B]
	a      O1
	b      O2
	starts [2]Operation
}

// Connect implements [Sender].
func (s WhenAllSender[A, B, O1, O2, S1, S2]) Connect(
	op *WhenAllOp[A, B, O1, O2], r Receiver[All2[A, B]],
) Operation {
	op.all.r = r
	op.starts[0] = s.a.Connect(&op.a, op.all.a.init(&op.all.join))
	op.starts[1] = s.b.Connect(&op.b, op.all.b.init(&op.all.join))
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *WhenAllSender[A, B, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements [Operation].
func (op *WhenAllOp[A, B, O1, O2]) Start() {
	if op.all.join.begin(&op.all, op.all.r.Env(), 2) {
		startAll(op.starts[:])
	}
}

// all2 is WhenAll without its children.
type all2[A, B any] struct {
	join join
	a    joinReceiver[A]
	b    joinReceiver[B]
	r    Receiver[All2[A, B]]
}

func (x *all2[A, B]) OnJoined() {
	v := All2[A, B]{x.a.take(), x.b.take()}
	deliverJoin(&x.join, v, x.r)
}

// join is a Group that needs the values of all its children.
type join struct {
	group Group
	state atomic.Uint32
	err   error // written by the child that made the state joinFailed
}

// The states of a join. An error replaces stopped, but not the other way round:
//
//	joinStopped --begin--> joinValues --childStopped--> joinStopped
//	joinValues, joinStopped --childFailed--> joinFailed
const (
	joinStopped uint32 = iota // a child was stopped, or the children have not been started
	joinValues                // no child has failed or been stopped
	joinFailed                // a child has failed
)

// begin calls Group.Begin for n children.
func (j *join) begin(h JoinHandler, env Env, n int) bool {
	j.state.Store(joinStopped)
	if !j.group.Begin(h, env, n) {
		return false
	}
	j.state.Store(joinValues)
	return true
}

// childFailed records a child's error and requests the others to stop. arrive is how the child arrives. The child
// counts as pending until the others have been requested to stop: so the operation cannot complete, and be reused,
// inside RequestStop.
func (j *join) childFailed(err error, arrive func()) {
	if causedByStop(j.group.StopToken(), err) {
		j.childStopped(arrive)
		return
	}
	if j.state.Swap(joinFailed) != joinFailed {
		j.err = err
		j.group.requestStopThen(arrive)
		return
	}
	arrive()
}

// childStopped does what childFailed does, for a child that was stopped.
func (j *join) childStopped(arrive func()) {
	if j.state.CompareAndSwap(joinValues, joinStopped) {
		j.group.requestStopThen(arrive)
		return
	}
	arrive()
}

// deliverJoin completes r when all children have arrived: with v if all of them had values. Nothing touches j after
// it.
func deliverJoin[T any](j *join, v T, r Receiver[T]) {
	err := j.err
	j.err = nil
	switch j.state.Load() {
	case joinValues:
		r.SetValue(v)
	case joinFailed:
		r.SetError(err)
	default:
		r.SetStopped()
	}
}

// joinReceiver is the receiver of one child of a join.
type joinReceiver[T any] struct {
	join  *join
	value T
}

// init makes x the receiver of a child of j.
func (x *joinReceiver[T]) init(j *join) *joinReceiver[T] {
	x.join = j
	return x
}

// take returns the value. It keeps nothing reachable.
func (x *joinReceiver[T]) take() T {
	v := x.value
	var zero T
	x.value = zero
	return v
}

func (x *joinReceiver[T]) SetValue(v T) {
	x.value = v
	x.join.group.Arrive()
}

func (x *joinReceiver[T]) SetError(err error) { x.join.childFailed(err, x.join.group.Arrive) }
func (x *joinReceiver[T]) SetStopped()        { x.join.childStopped(x.join.group.Arrive) }
func (x *joinReceiver[T]) Env() Env           { return &x.join.group }
