package limit

import (
	"slices"
	"sync/atomic"
)

// Budget limits the connections of the process. Each takes a pair of descriptors, and so does the kernel pipe of
// a splice. Half of the pairs are guaranteed to the listeners, in equal parts. The other half is common: a listener
// that has used its part takes common pairs as it needs them. The loops share the budget.
//
// A plan with other listeners or limits divides the pairs again while the loops take and give: see Divide.
type Budget struct {
	pairs   int64 // as they were divided last; the planner's, as the next two
	shared  int64 // pairs that are guaranteed to no listener
	round   uint64
	owed    atomic.Uint64 // the round of a division that gave a listener less than its part; 0: all have their part
	members atomic.Pointer[[]*Admission]
	_       [64]byte
	common  atomic.Int64 // free common pairs; negative while there are more connections than pairs
	_       [64]byte
	pipes   Admission // of kernel pipes
	waiting Waiters   // loops with listeners that wait for a common pair
}

// NewBudget makes a budget without pairs.
func NewBudget() *Budget {
	b := &Budget{}
	b.pipes.Init(b)
	b.members.Store(&[]*Admission{&b.pipes})
	return b
}

// Divide divides pairs among the listeners of a plan. Others, which are retired, keep the pairs that their connections
// have until these end. It is called by the planner only, while the loops take and give.
//
// pipes further pairs are for kernel pipes only; if there are some, they use no others.
//
// At no time are there more connections than pairs, unless a plan has fewer pairs than there are connections, or Force
// was used. So a listener may get its part later, when others give back what they have: see repay.
func (b *Budget) Divide(pairs, pipes int, members, retired []*Admission) {
	part := int64(0)
	if len(members) != 0 {
		part = int64(pairs / 2 / len(members))
	}
	pairs += pipes
	b.pipes.limit.Store(int64(pipes))
	b.pipes.part.Store(int64(pipes))
	members = append(slices.Clip(members), &b.pipes)
	b.members.Store(&members)
	for _, a := range retired {
		a.part.Store(0)
		a.shrink()
	}
	b.shared = int64(pairs)
	for _, a := range members {
		if a != &b.pipes {
			a.part.Store(min(part, a.most()))
		}
		a.shrink()
		b.shared -= a.part.Load()
	}
	b.common.Add(int64(pairs) - b.pairs)
	b.pairs = int64(pairs)
	b.round++
	b.owed.Store(b.round)
	for _, a := range members {
		a.grow()
	}
}

// Most returns how many connections a listener can have if no other listener has more than is guaranteed to it. The
// planner calls it.
func (b *Budget) Most(a *Admission) int {
	return int(min(b.shared+a.part.Load(), a.most()))
}

// Pairs returns how many pairs there are, and how many of them no connection has. It is exact while the loops neither
// take nor give.
func (b *Budget) Pairs() (all, free int64) {
	free = b.common.Load()
	for _, a := range *b.members.Load() {
		n, own := split(a.word.Load())
		free += max(own-n, 0)
	}
	return b.pairs, free
}

// Pipes returns the admission of kernel pipes.
func (b *Budget) Pipes() *Admission { return &b.pipes }

// Waiting returns the loops with listeners that wait for a common pair.
func (b *Budget) Waiting() *Waiters { return &b.waiting }

// repay gives a pair, which a connection has given back, to a listener that has less than its part. It reports whether
// there was one.
func (b *Budget) repay(round uint64) bool {
	for _, a := range *b.members.Load() {
		for {
			w := a.word.Load()
			n, own := split(w)
			part := a.part.Load()
			if own >= part {
				break
			}
			if n > own {
				a.word.CompareAndSwap(w, join(n, min(n, part)))
				continue
			}
			if a.word.CompareAndSwap(w, join(n, own+1)) {
				a.shrink() // the planner may have lowered the part meanwhile
				a.waiting.Wake()
				return true
			}
		}
	}
	b.owed.CompareAndSwap(round, 0)
	return false
}

// take takes a common pair, if one is free.
func (b *Budget) take() bool { return b.takeUpTo(1) == 1 }

// takeUpTo takes free common pairs, at most n.
func (b *Budget) takeUpTo(n int64) int64 {
	for {
		free := b.common.Load()
		taken := min(n, free)
		if taken <= 0 {
			return 0
		}
		if b.common.CompareAndSwap(free, free-taken) {
			return taken
		}
	}
}

// give gives a common pair back.
func (b *Budget) give() {
	if round := b.owed.Load(); round != 0 && b.common.Load() >= 0 && b.repay(round) {
		return
	}
	b.common.Add(1)
	b.waiting.Wake()
}
