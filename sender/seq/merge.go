package seq

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Merge returns the sequence of the items of both sources. The order of each source's items is kept. Items are
// delivered one at a time, on the thread where they come. If another item is being delivered at that moment, the item
// waits in a queue, and the thread that delivers takes it from there.
//
// Completion: where the last source completes, when both have completed. If one fails or is stopped, the other is
// requested to stop, both are joined, the items that they still deliver are delivered, and Merge completes as the
// first one did.
//
// Cancellation: a stop request is forwarded to both. If stop was requested before Start, neither is started and it
// completes stopped.
//
// Credit: what is granted is granted to the sources of the items, in the order in which these were delivered, on any
// thread. Credit beyond that is ignored.
//
// Allocation: the queue, when an item has to wait. The credit of the sources bounds it.
//
// Source: libunifex's merge of streams, stdexec's exec::merge_each.
func Merge[T, O1, O2 any, S1 Sequence[T, O1], S2 Sequence[T, O2]](
	a S1, b S2,
) MergeSequence[T, O1, O2, S1, S2] {
	return MergeSequence[T, O1, O2, S1, S2]{a, b}
}

// MergeSequence is the sequence that [Merge] returns.
type MergeSequence[
	T, O1, O2 any, S1 Sequence[T, O1], S2 Sequence[T, O2],
] struct {
	a S1
	b S2
}

// MergeOp is the operation state of [MergeSequence].
type MergeOp[T, O1, O2 any] struct {
	merge[T]
	sources [2]mergeSource[T]
	a       O1
	b       O2
	starts  [2]sender.Operation
}

// Connect implements [Sequence].
func (s MergeSequence[T, O1, O2, S1, S2]) Connect(op *MergeOp[T, O1, O2], r Receiver[T]) sender.Operation {
	op.init(r)
	op.starts[0] = op.sources[0].connected(s.a.Connect(&op.a, op.sources[0].init(&op.merge)))
	op.starts[1] = op.sources[1].connected(s.b.Connect(&op.b, op.sources[1].init(&op.merge)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *MergeSequence[T, O1, O2, S1, S2]) CompletionBehavior() sender.CompletionBehavior {
	return min(sender.CompletionBehaviorOf(&s.a), sender.CompletionBehaviorOf(&s.b))
}

// Start implements [sender.Operation].
func (op *MergeOp[T, O1, O2]) Start() {
	if op.begin(len(op.starts)) {
		startAll(op.starts[:])
	}
}

// startAll starts sources. After the last Start it does not touch the operation, which may have completed. It
// continues if a user's function ends this frame by runtime.Goexit.
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

// merge is Merge without its sources: it makes one sequence of their items, and delivers one item at a time.
type merge[T any] struct {
	group    sender.Group
	r        Receiver[T]
	delivery atomic.Uint32
	mu       sync.Mutex
	waiting  queue[mergeItem[T]] // guarded by mu
	decided  atomic.Bool         // a source has failed or been stopped
	result   completion          // written by the source that decided
	credits  mergeCredits
}

// mergeItem is an item, and how much of its source's credit it has used up.
type mergeItem[T any] struct {
	item    T
	from    *mergeSource[T]
	credits int
}

// The states of a delivery. The thread that makes the state deliveryBusy delivers its item, and then all that wait:
//
//	deliveryIdle --next--> deliveryBusy --enqueue, by another call--> deliveryQueued
//	deliveryQueued --dequeue of the last item--> deliveryBusy --delivered--> deliveryIdle
const (
	deliveryIdle   uint32 = iota
	deliveryBusy          // an item is being delivered
	deliveryQueued        // and items wait
)

// init binds m to its receiver. Connect calls it first.
func (m *merge[T]) init(r Receiver[T]) {
	m.r = r
	m.credits.clear()
}

// begin calls sender.Group.Begin for n sources.
func (m *merge[T]) begin(n int) bool {
	m.decided.Store(false)
	m.result = stopped // if no source is started
	m.credits.reset()
	if !m.group.Begin((*mergeJoin[T])(m), m.r.Env(), n) {
		return false
	}
	m.result = completed
	return true
}

// mergeJoin is a merge as the handler of its Group.
type mergeJoin[T any] merge[T]

func (m *mergeJoin[T]) OnJoined() {
	c := m.result
	m.result = completion{}
	c.Deliver(m.r)
}

// next delivers an item, or leaves it to the thread that is delivering; one call of a source at a time. The source by,
// whose call delivers, completes after next has returned, so m stays valid.
func (m *merge[T]) next(by *mergeSource[T], x mergeItem[T]) {
	if !m.delivery.CompareAndSwap(deliveryIdle, deliveryBusy) && m.enqueue(x) {
		return
	}
	m.deliverAll(by, x)
}

// deliverAll delivers x and the items that wait. It continues if a user's function ends this frame by runtime.Goexit.
func (m *merge[T]) deliverAll(by *mergeSource[T], x mergeItem[T]) {
	returned := false
	defer aftergoexit.Run(&returned, func() {
		m.credits.end()
		if !m.delivery.CompareAndSwap(deliveryBusy, deliveryIdle) {
			m.deliverAll(by, m.dequeue())
		}
	})
	m.deliver(by, x)
	for !m.delivery.CompareAndSwap(deliveryBusy, deliveryIdle) {
		m.deliver(by, m.dequeue())
	}
	returned = true
}

func (m *merge[T]) deliver(by *mergeSource[T], x mergeItem[T]) {
	if x.credits == 0 {
		m.r.SetNext(x.item)
		return
	}
	m.credits.begin(&by.credit, &x.from.credit, x.credits)
	m.r.SetNext(x.item)
	m.credits.end()
}

// enqueue leaves the item to the thread that is delivering. It returns false if no thread is delivering: then the
// caller has to deliver it.
func (m *merge[T]) enqueue(x mergeItem[T]) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.delivery.CompareAndSwap(deliveryIdle, deliveryBusy) {
		if m.delivery.Load() == deliveryQueued || m.delivery.CompareAndSwap(deliveryBusy, deliveryQueued) {
			m.waiting.push(x)
			return true
		}
	}
	return false
}

// dequeue takes the first item that waits. There is one.
func (m *merge[T]) dequeue() mergeItem[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.waiting.pop()
	if m.waiting.n == 0 {
		m.delivery.Store(deliveryBusy)
	}
	return x
}

// stopOthers stops the other sources after one has failed or been stopped, before it arrives. The first such source
// decides the result.
func (m *merge[T]) stopOthers(c completion) {
	if m.decided.CompareAndSwap(false, true) {
		m.result = c
		m.group.RequestStop()
	}
}

// arrive counts a source as completed.
func (m *merge[T]) arrive() { m.group.Arrive() }

// granter returns m, if any of its sources has credit.
func (m *merge[T]) granter() Granter {
	if m.credits.some {
		return m
	}
	return nil
}

// Grant implements [Granter]: it grants for the items that have been delivered, in their order, each time to the
// source of the item.
func (m *merge[T]) Grant(n int) { m.credits.grant(n) }

// Credits implements [Granter].
func (m *merge[T]) Credits() int { return m.credits.current }

// Scheduler implements [Granter]: it is that of all sources, or nil if they have several.
func (m *merge[T]) Scheduler() sender.Scheduler {
	if m.credits.shared {
		return nil
	}
	return m.credits.scheduler
}

// mergeSource is the receiver of one of the sources.
type mergeSource[T any] struct {
	m      *merge[T]
	credit sourceCredit
}

// init makes s the receiver of a source of m.
func (s *mergeSource[T]) init(m *merge[T]) *mergeSource[T] {
	s.m, s.credit.owner = m, m
	return s
}

// connected stores the credit of the source.
func (s *mergeSource[T]) connected(start sender.Operation) sender.Operation {
	s.credit.connect(start)
	s.m.credits.add(&s.credit)
	return start
}

// stopOthers stops the other sources, and closes the credit of this one, which has failed or been stopped.
func (s *mergeSource[T]) stopOthers(c completion) {
	returned := false
	defer aftergoexit.Run(&returned, s.credit.close)
	s.m.stopOthers(c)
	returned = true
	s.credit.close()
}

func (s *mergeSource[T]) SetNext(item T)     { s.m.next(s, mergeItem[T]{item, s, s.credit.Credits()}) }
func (s *mergeSource[T]) SetValue(struct{})  { s.credit.close() }
func (s *mergeSource[T]) SetError(err error) { s.stopOthers(failed(err)) }
func (s *mergeSource[T]) SetStopped()        { s.stopOthers(stopped) }
func (s *mergeSource[T]) Env() sender.Env    { return &s.m.group }
