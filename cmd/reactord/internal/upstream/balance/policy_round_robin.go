package balance

import (
	"cmp"
	"slices"
	"sort"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// round_robin is smooth and weighted: each loop starts at a random place, and keeps its place when the group changes.
func init() {
	policies[config.RoundRobin] = &policy{
		prepare: (*Group).prepareTurns, adopt: (*Picker).adoptTurns, pick: (*choice).roundRobin,
	}
}

// turns is the state of smooth weighted round robin as in nginx: each connection credits every server with its
// weight, and the server with the most credit gets the connection and pays the sum of the weights.
type turns struct {
	last   []int32   // by set, the last member chosen, which suffices while weights are equal; -1: none
	earned []float64 // by member of the Picker's group
	spare  []float64
}

// prepareTurns sorts the members by id, as adoptTurns needs them.
func (g *Group) prepareTurns(*Group) {
	g.byID = make([]int32, len(g.members))
	for i := range g.byID {
		g.byID[i] = int32(i)
		g.total += max(g.members[i].weight, 0)
	}
	slices.SortFunc(g.byID, func(a, b int32) int { return cmp.Compare(g.members[a].id, g.members[b].id) })
}

// roundRobin takes the server whose turn it is.
func (c *choice) roundRobin(s *set) int32 {
	if s.even {
		return c.inOrder(s)
	}
	earned := c.p.turns.earned
	best, before := s.live[0], int64(0)
	for k, i := range s.live {
		earned[i] += float64(s.sums[k] - before) // its weight
		before = s.sums[k]
		if earned[i] > earned[best] {
			best = i
		}
	}
	if c.usable(best) {
		earned[best] -= float64(s.total)
		return best
	}
	// Only usable servers take part. This is a second loop, because usable reads counters that other threads write.
	best = none
	total := 0.0
	for _, i := range s.live {
		weight := float64(c.g.members[i].weight)
		if !c.usable(i) {
			earned[i] -= weight
			continue
		}
		total += weight
		if best == none || earned[i] > earned[best] {
			best = i
		}
	}
	if best != none {
		earned[best] -= total
	}
	return best
}

// inOrder takes the server after the last one: the result for equal weights, without the arithmetic. It remembers the
// member and not its position in live, which changes when servers come or go.
func (c *choice) inOrder(s *set) int32 {
	last := &c.p.turns.last[s.place]
	first := sort.Search(len(s.live), func(k int) bool { return s.live[k] > *last })
	for k := range s.live {
		if i := s.live[(first+k)%len(s.live)]; c.usable(i) {
			*last = i
			return i
		}
	}
	return none
}

// adoptTurns starts a new group. Servers keep what they have earned, measured in connections (each costs the sum of
// the weights), so that groups which change often are as fair as a stable one. New servers start at random, and all
// of them in the first group, so that not all loops start with the same server.
func (p *Picker) adoptTurns(g *Group) {
	t := &p.turns
	was := t.earned
	if cap(t.spare) < len(g.members) {
		t.spare = make([]float64, len(g.members))
	}
	t.earned, t.spare = t.spare[:len(g.members)], was[:0]

	old := p.group
	if old == nil || old.total == 0 { // nothing is earned
		for i := range t.earned {
			t.earned[i] = float64(p.below(g.total + 1))
		}
		t.last = make([]int32, len(g.sets))
		for k := range t.last {
			t.last[k] = int32(p.below(int64(len(g.members)+1))) - 1
		}
		return
	}
	p.adoptLast(g)
	average := 0.0
	for _, e := range was {
		average += e / float64(len(was))
	}
	rate := float64(g.total) / float64(old.total)
	k := 0
	for _, i := range g.byID {
		id := g.members[i].id
		for k < len(old.byID) && old.members[old.byID[k]].id < id {
			k++
		}
		if k < len(old.byID) && old.members[old.byID[k]].id == id {
			t.earned[i] = (was[old.byID[k]] - average) * rate
		} else {
			t.earned[i] = float64(p.below(g.total+1)) - float64(g.total)/2
		}
	}
}

// adoptLast finds the last servers of the sets in the next group. A server that is gone is replaced by the one before
// it.
func (p *Picker) adoptLast(g *Group) {
	old, was := p.group, p.turns.last
	p.turns.last = make([]int32, len(g.sets))
	for k := range g.sets {
		s, last := &g.sets[k], int32(none)
		for j := range old.sets {
			if o := &old.sets[j]; o.priority == s.priority && o.other == s.other {
				for last = none; was[j] >= 0 && last == none; was[j]-- {
					last = g.find(old.members[was[j]].id)
				}
			}
		}
		p.turns.last[k] = last
	}
}

// find returns the member with an id, or none.
func (g *Group) find(id uint64) int32 {
	k := sort.Search(len(g.byID), func(k int) bool { return g.members[g.byID[k]].id >= id })
	if k < len(g.byID) && g.members[g.byID[k]].id == id {
		return g.byID[k]
	}
	return none
}
