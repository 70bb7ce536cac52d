package seq

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
)

// merge is what the receivers of several sources come to: one sequence, delivered one item at a time.
//
// An item that comes while another is being delivered, by another thread or from inside of SetNext, is left
// to whoever is delivering. What may have to wait is bounded by what the sources may deliver before they are
// granted more, since that is granted for what was delivered.
type merge[T any] struct {
	group   sender.Group
	r       Receiver[T]
	turn    atomic.Uint32
	mu      sync.Mutex
	waiting []T         // guarded by mu
	head    int         // of waiting
	decided atomic.Bool // something but the value is the outcome
	outcome outcome     // written by whoever decided
}

// What turn can be.
const (
	free    uint32 = iota
	taken          // somebody is delivering
	crowded        // and items are waiting
)

// begin is sender.Group.Begin.
func (m *merge[T]) begin(n int) bool {
	m.decided.Store(false)
	m.outcome = outcome{end: stopped} // if no source is started
	if !m.group.Begin(m, m.r.Env(), n) {
		return false
	}
	m.outcome = outcome{}
	return true
}

func (m *merge[T]) Finish() {
	x := m.outcome
	m.outcome = outcome{}
	deliver(x, sender.Receiver[struct{}](m.r), struct{}{})
}

// SetNext is called by the sources, each one call at a time. The source whose call delivers does not
// complete before it returns, so that m stays.
func (m *merge[T]) SetNext(item T) {
	if !m.turn.CompareAndSwap(free, taken) && m.queue(item) {
		return
	}
	m.r.SetNext(item)
	for !m.turn.CompareAndSwap(taken, free) {
		m.r.SetNext(m.next())
	}
}

// queue leaves the item to whoever is delivering; false: nobody is any more, and it is the caller's turn.
func (m *merge[T]) queue(item T) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.turn.CompareAndSwap(free, taken) {
		if m.turn.Load() == crowded || m.turn.CompareAndSwap(taken, crowded) {
			m.waiting = append(m.waiting, item)
			return true
		}
	}
	return false
}

// next is the first of those that wait, of which there is one.
func (m *merge[T]) next() T {
	m.mu.Lock()
	defer m.mu.Unlock()
	var none T
	item := m.waiting[m.head]
	m.waiting[m.head] = none
	if m.head++; m.head == len(m.waiting) {
		m.waiting, m.head = m.waiting[:0], 0
		m.turn.Store(taken)
	}
	return item
}

// arrive is the end of a source that is not its natural one: the others are stopped. It counts as pending
// until they have been asked.
func (m *merge[T]) arrive(x outcome) {
	if m.decided.CompareAndSwap(false, true) {
		m.outcome = x
		m.group.RequestStop()
	}
}

func (m *merge[T]) SetValue(struct{})  { m.group.Leave() }
func (m *merge[T]) SetError(err error) { m.arrive(outcome{failed, err}); m.group.Leave() }
func (m *merge[T]) SetStopped()        { m.arrive(outcome{end: stopped}); m.group.Leave() }
func (m *merge[T]) Env() sender.Env    { return &m.group }

// Merge is the sequence of the items of both sources, as they come, each source's in their order. It ends
// when both have ended. If one fails or is stopped, the other is stopped, both are joined, what they still
// deliver is delivered, and the sequence ends as the first one did. If stop was requested before Start, none
// is started.
//
// Items are delivered one at a time, where they come, or if another is being delivered at that moment on the
// thread that does so: that item waits, in memory that is allocated then. Back-pressure is the sources'. It
// completes where the last source does.
//
// Source: libunifex's merge of streams, stdexec's exec::merge_each.
func Merge[T, O1, O2 any, P1 sender.Operation[O1], P2 sender.Operation[O2], S1 Sequence[T, O1], S2 Sequence[T, O2]](
	a S1, b S2,
) MergeSequence[T, O1, O2, P1, P2, S1, S2] {
	return MergeSequence[T, O1, O2, P1, P2, S1, S2]{a, b}
}

// MergeSequence is what Merge returns.
type MergeSequence[
	T, O1, O2 any, P1 sender.Operation[O1], P2 sender.Operation[O2], S1 Sequence[T, O1], S2 Sequence[T, O2],
] struct {
	a S1
	b S2
}

// MergeOp is the operation state of Merge.
type MergeOp[T, O1, O2 any, P1 sender.Operation[O1], P2 sender.Operation[O2]] struct {
	merge merge[T]
	a     O1
	b     O2
}

// Connect implements Sequence.
func (s MergeSequence[T, O1, O2, P1, P2, S1, S2]) Connect(op *MergeOp[T, O1, O2, P1, P2], r Receiver[T]) {
	op.merge.r = r
	s.a.Connect(&op.a, &op.merge)
	s.b.Connect(&op.b, &op.merge)
}

// Completion implements sender.Completer.
func (s *MergeSequence[T, O1, O2, P1, P2, S1, S2]) Completion() sender.Completion {
	return min(sender.CompletionOf(&s.a), sender.CompletionOf(&s.b))
}

// Start implements sender.Operation.
func (op *MergeOp[T, O1, O2, P1, P2]) Start() {
	if op.merge.begin(2) {
		P1(&op.a).Start()
		P2(&op.b).Start()
	}
}
