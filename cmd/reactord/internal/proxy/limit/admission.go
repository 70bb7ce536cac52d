package limit

import (
	"math"
	"sync/atomic"
)

// Admission counts and limits the connections of a listener, on all loops together.
type Admission struct {
	budget *Budget
	limit  atomic.Int64 // connections at most; 0: as many as there are descriptors for
	part   atomic.Int64 // connections that are to be guaranteed
	_      [64]byte
	word   atomic.Uint64 // connections, and how many are guaranteed now; see split
	_      [64]byte

	waiting Waiters
}

// connsBits is the size of the lower part of Admission.word. Both parts change together, so that each connection is
// known to have a guaranteed pair or a common one, also while the guaranteed ones become more or fewer.
const connsBits = 32

func split(word uint64) (conns, own int64) {
	return int64(word & (1<<connsBits - 1)), int64(word >> connsBits)
}

func join(conns, own int64) uint64 { return uint64(own)<<connsBits | uint64(conns) }

// Room is the answer of an Admission to one more connection.
type Room uint8

// The answers.
const (
	Granted   Room = iota
	Full           // the listener has as many connections as it may have
	Exhausted      // the budget has no pair left
)

// Init sets the budget whose pairs the connections take.
func (a *Admission) Init(b *Budget) { a.budget = b }

// SetLimit sets how many connections the listener may have; 0: as many as there are descriptors for. The next Divide
// takes it into account.
func (a *Admission) SetLimit(n int) { a.limit.Store(int64(n)) }

// Waiting returns the loops on which the listener waits for room.
func (a *Admission) Waiting() *Waiters { return &a.waiting }

// Connections returns how many connections the listener has.
func (a *Admission) Connections() int64 {
	n, _ := split(a.word.Load())
	return n
}

// most returns how many connections the listener may have, whatever the budget.
func (a *Admission) most() int64 {
	if limit := a.limit.Load(); limit > 0 {
		return limit
	}
	return math.MaxInt64
}

// shrink lowers what is guaranteed to the listener's part. What no connection uses becomes common.
func (a *Admission) shrink() {
	for {
		w := a.word.Load()
		n, own := split(w)
		part := a.part.Load()
		if own <= part {
			return
		}
		if a.word.CompareAndSwap(w, join(n, part)) {
			a.budget.common.Add(max(own-max(n, part), 0))
			return
		}
	}
}

// grow raises what is guaranteed to its part, as far as there are free common pairs.
func (a *Admission) grow() {
	for {
		w := a.word.Load()
		n, own := split(w)
		part := a.part.Load()
		if own >= part {
			return
		}
		next, free := min(max(n, own), part), int64(0) // connections that have common pairs keep them as their own
		if next < part {
			if free = a.budget.takeUpTo(part - next); free == 0 && next == own {
				return
			}
		}
		if !a.word.CompareAndSwap(w, join(n, next+free)) {
			a.budget.common.Add(free)
		}
	}
}

// Take takes room for one more connection, if there is room.
func (a *Admission) Take() Room {
	for held := false; ; {
		w := a.word.Load()
		n, own := split(w)
		if n >= a.most() {
			if held {
				a.budget.give()
			}
			return Full
		}
		if n >= own && !held {
			if held = a.budget.take(); !held {
				return Exhausted
			}
		}
		if a.word.CompareAndSwap(w, w+1) {
			if held && n < own {
				a.budget.give()
			}
			return Granted
		}
	}
}

// Force takes room for a connection that is already accepted, whatever the limits.
func (a *Admission) Force() {
	if n, own := split(a.word.Add(1)); n > own {
		a.budget.common.Add(-1)
	}
}

// Give gives back the room of a connection, and wakes a waiter.
func (a *Admission) Give() {
	n, own := split(a.word.Add(^uint64(0)))
	ours := n < own
	if !ours {
		a.budget.give()
	}
	if ours || a.limit.Load() > 0 {
		a.waiting.Wake()
	}
}
