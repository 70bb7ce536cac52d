package sender

import "sync/atomic"

// All2 is what WhenAll completes with.
type All2[A, B any] struct {
	A A
	B B
}

// WhenAll starts both senders and completes with both values. The first error, or else the first that
// is stopped, decides otherwise: the others are then asked to stop, waited for, and what they complete
// with is dropped. An error goes before being stopped. If stop was requested before Start it completes
// stopped and starts none; later the children are asked to stop, and it completes with their values if
// they have them all the same. It completes where the last child does. Nothing is allocated.
//
// Take care with senders whose value is a resource: if another fails, nobody is there to let go of it.
//
// Source: P2300R10 [exec.when.all].
func WhenAll[
	A, B, O1, O2 any,
	S1 Sender[A, O1], S2 Sender[B, O2],
](a S1, b S2) WhenAllSender[A, B, O1, O2, S1, S2] {
	return WhenAllSender[A, B, O1, O2, S1, S2]{a, b}
}

// WhenAllSender is what WhenAll returns.
type WhenAllSender[
	A, B, O1, O2 any,
	S1 Sender[A, O1], S2 Sender[B, O2],
] struct {
	a S1
	b S2
}

// WhenAllOp is the operation state of WhenAll.
type WhenAllOp[A, B, O1, O2 any] struct {
	all    all2[A, B]
	a      O1
	b      O2
	starts [2]Operation
}

// Connect implements Sender.
func (s WhenAllSender[A, B, O1, O2, S1, S2]) Connect(
	op *WhenAllOp[A, B, O1, O2], r Receiver[All2[A, B]],
) Operation {
	op.all.r = r
	op.starts[0] = s.a.Connect(&op.a, op.all.a.of(&op.all.join))
	op.starts[1] = s.b.Connect(&op.b, op.all.b.of(&op.all.join))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *WhenAllSender[A, B, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.a), CompletionBehaviorOf(&s.b))
}

// Start implements Operation.
func (op *WhenAllOp[A, B, O1, O2]) Start() {
	if op.all.join.begin(&op.all, op.all.r.Env(), 2) {
		startAll(op.starts[:])
	}
}

// all2 is WhenAll without its children.
type all2[A, B any] struct {
	join join
	a    part[A]
	b    part[B]
	r    Receiver[All2[A, B]]
}

func (x *all2[A, B]) Finish() {
	v := All2[A, B]{x.a.take(), x.b.take()}
	settle(&x.join, v, x.r)
}

// join is a Group that needs all its children.
type join struct {
	group Group
	state atomic.Uint32
	err   error // written by whoever made it failed
}

// The states of a join.
const (
	stopped = iota // a child was stopped, or the children have not been started
	running        // all have had values so far
	failing        // a child has failed
)

// begin is Group.Begin.
func (j *join) begin(op Joiner, env Env, n int) bool {
	j.state.Store(stopped)
	if !j.group.Begin(op, env, n) {
		return false
	}
	j.state.Store(running)
	return true
}

// failed is a child's error, after which the child leaves. It counts as pending until the others have been
// asked to stop, so that the operation cannot end under RequestStop when they complete at once; in halted too.
func (j *join) failed(err error, leave func()) {
	if heeds(j.group.StopToken(), err) {
		j.halted(leave)
		return
	}
	if j.state.Swap(failing) != failing {
		j.err = err
		j.group.stopThen(leave)
		return
	}
	leave()
}

// halted is a child's being stopped, after which it leaves.
func (j *join) halted(leave func()) {
	if j.state.CompareAndSwap(running, stopped) {
		j.group.stopThen(leave)
		return
	}
	leave()
}

// settle completes r for a join that is over: with v if all the children had values. Nothing touches
// the join after it.
func settle[T any](j *join, v T, r Receiver[T]) {
	err := j.err
	j.err = nil
	switch j.state.Load() {
	case running:
		r.SetValue(v)
	case failing:
		r.SetError(err)
	default:
		r.SetStopped()
	}
}

// part is the receiver of one child of a join.
type part[T any] struct {
	join  *join
	value T
}

// of is p as a part of j.
func (p *part[T]) of(j *join) *part[T] {
	p.join = j
	return p
}

// take is the value. Nothing is left of it for the garbage collector.
func (p *part[T]) take() T {
	v := p.value
	var zero T
	p.value = zero
	return v
}

func (p *part[T]) SetValue(v T) {
	p.value = v
	p.join.group.Leave()
}

func (p *part[T]) SetError(err error) { p.join.failed(err, p.join.group.Leave) }
func (p *part[T]) SetStopped()        { p.join.halted(p.join.group.Leave) }
func (p *part[T]) Env() Env           { return &p.join.group }
