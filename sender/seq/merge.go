package seq

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// merge is what the receivers of several sources come to: one sequence, delivered one item at a time.
//
// An item that comes while another is being delivered, by another thread or from inside of SetNext, is left
// to whoever is delivering.
type merge[T any] struct {
	group   sender.Group
	r       Receiver[T]
	turn    atomic.Uint32
	mu      sync.Mutex
	waiting queue[pending[T]] // guarded by mu
	decided atomic.Bool       // something but the value is the outcome
	outcome outcome           // written by whoever decided
	credits credits
}

// pending is an item, and what of its source's credit it has used up.
type pending[T any] struct {
	item  T
	from  *mergeSource[T]
	worth int
}

// What turn can be.
const (
	free    uint32 = iota
	taken          // somebody is delivering
	crowded        // and items are waiting
)

// prepare begins Connect.
func (m *merge[T]) prepare(r Receiver[T]) {
	m.r = r
	m.credits.clear()
}

// begin is sender.Group.Begin.
func (m *merge[T]) begin(n int) bool {
	m.decided.Store(false)
	m.outcome = outcome{end: stopped} // if no source is started
	m.credits.reset()
	if !m.group.Begin((*mergeEnd[T])(m), m.r.Env(), n) {
		return false
	}
	m.outcome = outcome{}
	return true
}

// start starts the sources. Once the last is started m may be over.
func (m *merge[T]) start(sources []sender.Operation) {
	if m.begin(len(sources)) {
		startAll(sources)
	}
}

// startAll starts sources, also if a function of the receiver's ends this frame by runtime.Goexit.
func startAll(sources []sender.Operation) {
	returned := false
	defer aftergoexit.Run(&returned, func() { startAll(sources) })
	for len(sources) > 0 {
		source := sources[0]
		sources = sources[1:]
		source.Start()
	}
	returned = true
}

// mergeEnd is a merge whose sources have all completed.
type mergeEnd[T any] merge[T]

func (m *mergeEnd[T]) Finish() {
	x := m.outcome
	m.outcome = outcome{}
	deliver(x, sender.Receiver[struct{}](m.r), struct{}{})
}

// take is called by the sources, each one call at a time. The source whose call delivers does not complete
// before it returns, so that m stays.
func (m *merge[T]) take(by *mergeSource[T], x pending[T]) {
	if !m.turn.CompareAndSwap(free, taken) && m.queue(x) {
		return
	}
	m.deliverFrom(by, x)
}

// deliverFrom delivers x and the items that wait, and ends the turn, also if a function of the receiver's ends this
// frame by runtime.Goexit.
func (m *merge[T]) deliverFrom(by *mergeSource[T], x pending[T]) {
	returned := false
	defer aftergoexit.Run(&returned, func() {
		m.credits.end()
		if !m.turn.CompareAndSwap(taken, free) {
			m.deliverFrom(by, m.first())
		}
	})
	m.deliver(by, x)
	for !m.turn.CompareAndSwap(taken, free) {
		m.deliver(by, m.first())
	}
	returned = true
}

func (m *merge[T]) deliver(by *mergeSource[T], x pending[T]) {
	if x.worth == 0 {
		m.r.SetNext(x.item)
		return
	}
	m.credits.begin(&by.account, &x.from.account, x.worth)
	m.r.SetNext(x.item)
	m.credits.end()
}

// queue leaves the item to whoever is delivering; false: nobody is any more, and it is the caller's turn.
func (m *merge[T]) queue(x pending[T]) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.turn.CompareAndSwap(free, taken) {
		if m.turn.Load() == crowded || m.turn.CompareAndSwap(taken, crowded) {
			m.waiting.push(x)
			return true
		}
	}
	return false
}

// first is the first of those that wait, of which there is one.
func (m *merge[T]) first() pending[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.waiting.pop()
	if m.waiting.n == 0 {
		m.turn.Store(taken)
	}
	return x
}

// arrive is the end of a source that is not its natural one: the others are stopped. It counts as pending
// until they have been asked.
func (m *merge[T]) arrive(x outcome) {
	if m.decided.CompareAndSwap(false, true) {
		m.outcome = x
		m.group.RequestStop()
	}
}

// leave says that one of the sources has completed.
func (m *merge[T]) leave() { m.group.Leave() }

// granter is m if any of its sources has credit.
func (m *merge[T]) granter() Granter {
	if m.credits.some {
		return m
	}
	return nil
}

// Grant implements Granter: it grants for the items that have been delivered, in their order, each time to the
// source of that item.
func (m *merge[T]) Grant(n int) { m.credits.grant(n) }

// Credits implements Granter.
func (m *merge[T]) Credits() int { return m.credits.worth }

// Scheduler implements Granter: it is that of all sources, or nil if they have several.
func (m *merge[T]) Scheduler() sender.Scheduler {
	if m.credits.shared {
		return nil
	}
	return m.credits.home
}

// mergeSource is the receiver of one of the sources.
type mergeSource[T any] struct {
	m       *merge[T]
	account account
}

// of is s as a source of m.
func (s *mergeSource[T]) of(m *merge[T]) *mergeSource[T] {
	s.m, s.account.owner = m, m
	return s
}

// connected takes note of the credit of the source.
func (s *mergeSource[T]) connected(start sender.Operation) sender.Operation {
	s.account.connect(start)
	s.m.credits.add(&s.account)
	return start
}

// fail is the end of a source that is not its natural one.
func (s *mergeSource[T]) fail(x outcome) {
	returned := false
	defer aftergoexit.Run(&returned, s.account.close)
	s.m.arrive(x)
	returned = true
	s.account.close()
}

func (s *mergeSource[T]) SetNext(item T)     { s.m.take(s, pending[T]{item, s, s.account.Credits()}) }
func (s *mergeSource[T]) SetValue(struct{})  { s.account.close() }
func (s *mergeSource[T]) SetError(err error) { s.fail(outcome{failed, err}) }
func (s *mergeSource[T]) SetStopped()        { s.fail(outcome{end: stopped}) }
func (s *mergeSource[T]) Env() sender.Env    { return &s.m.group }

// Merge is the sequence of the items of both sources, as they come, each source's in their order. It ends
// when both have ended. If one fails or is stopped, the other is stopped, both are joined, what they still
// deliver is delivered, and the sequence ends as the first one did. If stop was requested before Start, none
// is started.
//
// Items are delivered one at a time, where they come, or if another is being delivered at that moment on the
// thread that does so: that item waits, in memory that is allocated then and that is bounded by what waits at a
// time, which the credit of the sources bounds. What is granted goes to the sources of the items in the order in
// which those were delivered, on any thread; credit beyond that goes nowhere. It completes where the last source
// does.
//
// Source: libunifex's merge of streams, stdexec's exec::merge_each.
func Merge[T, O1, O2 any, S1 Sequence[T, O1], S2 Sequence[T, O2]](
	a S1, b S2,
) MergeSequence[T, O1, O2, S1, S2] {
	return MergeSequence[T, O1, O2, S1, S2]{a, b}
}

// MergeSequence is what Merge returns.
type MergeSequence[
	T, O1, O2 any, S1 Sequence[T, O1], S2 Sequence[T, O2],
] struct {
	a S1
	b S2
}

// MergeOp is the operation state of Merge.
type MergeOp[T, O1, O2 any] struct {
	merge[T]
	sources [2]mergeSource[T]
	a       O1
	b       O2
	starts  [2]sender.Operation
}

// Connect implements Sequence.
func (s MergeSequence[T, O1, O2, S1, S2]) Connect(op *MergeOp[T, O1, O2], r Receiver[T]) sender.Operation {
	op.prepare(r)
	op.starts[0] = op.sources[0].connected(s.a.Connect(&op.a, op.sources[0].of(&op.merge)))
	op.starts[1] = op.sources[1].connected(s.b.Connect(&op.b, op.sources[1].of(&op.merge)))
	return op
}

// CompletionBehavior implements sender.CompletionDescriber.
func (s *MergeSequence[T, O1, O2, S1, S2]) CompletionBehavior() sender.CompletionBehavior {
	return min(sender.CompletionBehaviorOf(&s.a), sender.CompletionBehaviorOf(&s.b))
}

// Start implements sender.Operation.
func (op *MergeOp[T, O1, O2]) Start() {
	op.merge.start(op.starts[:])
}
