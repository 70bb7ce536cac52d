package balance

import (
	"math"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// maglev looks into a table of 65 537 entries for each set. A server that goes down moves its own clients only. One
// that leaves the plan moves few others too: with 100 servers about as many as its own. Weights are exact to 1/65537 of
// their sum; a server with less than that may have no clients. A table has 128 KiB.
func init() {
	policies[config.Maglev] = &policy{prepare: (*Group).prepareTables, pick: (*choice).maglev}
}

// tableSize is prime, so that every step visits every entry.
const tableSize = 65537

// lookup is a Maglev table: section 3.4 of Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load
// Balancer", NSDI 2016. Each server prefers the entries in an order; the servers choose in rounds.
type lookup struct {
	ids     []uint64
	weights []int64
	entries []uint16 // position in ids
}

// prepareTables gives a table to each set with a choice, unless it has more servers than a table can name.
func (g *Group) prepareTables(before *Group) {
	for i := range g.sets {
		if s := &g.sets[i]; len(s.base) > 1 && len(s.base) <= math.MaxUint16 {
			s.table = before.tableFor(g, s.base)
		}
	}
}

// tableFor returns the table of next for the members base, in terms of their positions in base.
func (g *Group) tableFor(next *Group, base []int32) *lookup {
	t := &lookup{ids: make([]uint64, len(base)), weights: make([]int64, len(base))}
	for k, i := range base {
		t.ids[k], t.weights[k] = next.members[i].id, next.members[i].weight
	}
	if g != nil {
		for i := range g.sets {
			if old := g.sets[i].table; old != nil && slices.Equal(old.ids, t.ids) && slices.Equal(old.weights, t.weights) {
				return old
			}
		}
	}
	t.fill()
	return t
}

// fill lets the servers choose. In a round, the heaviest server chooses one entry, and the others proportionally
// fewer: the k-th entry of a server is due in round (k - phase) × heaviest / weight, where each server has a phase
// from [0, 1). What two servers do does not depend on a third, so a change leaves the table nearly the same.
func (t *lookup) fill() {
	n := len(t.ids)
	heaviest := uint64(slices.Max(t.weights))
	// due[r] is the first server that is due in round r, next[k] the one after k. Rounds are lists, because a light
	// server is due in few of them.
	due := make([]int32, tableSize+1)
	for r := range due {
		due[r] = none
	}
	next, position, step := make([]int32, n), make([]uint32, n), make([]uint32, n)
	const unit = 1 << 10 // resolution of phases
	passed := make([]uint64, n)
	enqueue := func(k int32) {
		weight := uint64(t.weights[k])
		if r := ((passed[k]+unit)*heaviest + unit*weight - 1) / (unit * weight); r <= tableSize {
			next[k], due[r] = due[r], k
		}
	}
	for k := range n {
		position[k] = uint32(mix(t.ids[k]) % tableSize)
		step[k] = uint32(mix(^t.ids[k])%(tableSize-1)) + 1
		passed[k] = -(mix(t.ids[k]) >> 54)
		enqueue(int32(k))
	}

	t.entries = make([]uint16, tableSize)
	taken := make([]bool, tableSize)
	for left, r := tableSize, 1; ; r++ {
		for k := due[r]; k != none; {
			at := position[k]
			for taken[at] {
				at = (at + step[k]) % tableSize
			}
			taken[at], t.entries[at], position[k] = true, uint16(k), at
			if left--; left == 0 {
				return
			}
			following := next[k]
			passed[k] += unit
			enqueue(k)
			k = following
		}
	}
}

// lookupTries is the number of entries to try for a usable server. With half of the servers down, one connection in
// 256 is left to rendezvous.
const lookupTries = 8

// maglev finds a server in the table. If it is not usable, the client's hash is hashed again, so that the clients of
// a server that is down spread over all others, and no other client moves.
func (c *choice) maglev(s *set) int32 {
	if s.table != nil {
		h := c.hash
		for range lookupTries {
			if i := s.base[s.table.entries[h%tableSize]]; c.usable(i) {
				return i
			}
			h = mix(h)
		}
	}
	return c.rendezvous(s)
}
