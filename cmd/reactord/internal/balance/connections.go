package balance

import "math"

// p2c and least_connections compare connections per weight. Those of servers with different weights are seldom equal:
// with 1 and 9, the first server is always ahead with a connection, or always behind without one. An exact comparison
// would give a light server nothing while there are few connections, or far too much. So servers are divided into
// places of equal weight: the lighter one is one place, the heavier one as many as its weight is a multiple, with its
// connections spread evenly. No place is preferred, so shares follow the weights with any number of connections.

// burden returns a member's connections per weight with one more connection.
func (c *choice) burden(i int32) float64 {
	m := &c.g.members[i]
	return float64(m.load.N()+1) * m.inverse
}

// carried returns a member's connections per weight.
func (c *choice) carried(i int32) float64 {
	m := &c.g.members[i]
	return float64(m.load.N()) * m.inverse
}

// twoRandomTries is the number of pairs, or for random of servers, drawn until one is usable.
const twoRandomTries = 4

// twoRandom draws two servers by weight, and takes the one with fewer connections per weight.
func (c *choice) twoRandom(s *set) int32 {
	for range twoRandomTries {
		a, b := c.pair(s)
		first, second := c.usable(a), c.usable(b)
		switch {
		case second && (!first || c.rather(s, b, a)):
			return b
		case first:
			return a
		}
	}
	return c.least(s) // nearly all are tried or full
}

// rather reports whether to take b, drawn from the others, instead of a, drawn first: whether a place of b has fewer
// connections than a place of a.
func (c *choice) rather(s *set, b, a int32) bool {
	first, second := &c.g.members[a], &c.g.members[b]
	switch {
	case a == b:
		return false
	case first.weight == second.weight:
		return second.load.N() < first.load.N()
	case c.burden(b) < c.carried(a):
		return true
	case first.weight > second.weight && c.p.fraction()*float64(s.total-second.weight) >= float64(s.total-first.weight):
		// A light server is drawn second more often than first, because the heavy one is then no longer among the
		// others. This makes both orders of a pair equally likely (the Metropolis–Hastings algorithm).
		return false
	case first.weight > second.weight:
		return second.load.N() < c.place(first, second.weight)
	default:
		return c.place(second, first.weight) < first.load.N()
	}
}

// place returns the connections of a place of m that has the given weight.
func (c *choice) place(m *member, weight int64) int {
	return int(float64(m.load.N())*float64(weight)*m.inverse + c.p.fraction())
}

// pair draws two different members of live, or the only one twice.
func (c *choice) pair(s *set) (a, b int32) {
	k := s.at(c.p.below(s.total))
	a = s.live[k]
	if len(s.live) == 1 {
		return a, a
	}
	// The second is drawn from the others: all intervals except that of the first.
	weight := c.g.members[a].weight
	point := c.p.below(s.total - weight)
	if point >= s.sums[k]-weight {
		point += weight
	}
	return a, s.live[s.at(point)]
}

// random draws a server by weight.
func (c *choice) random(s *set) int32 {
	for range twoRandomTries {
		if i := s.live[s.at(c.p.below(s.total))]; c.usable(i) {
			return i
		}
	}
	total := int64(0) // of usable servers; nearly all are tried or full
	for _, i := range s.live {
		if c.usable(i) {
			total += c.g.members[i].weight
		}
	}
	if total == 0 {
		return none
	}
	point := c.p.below(total)
	for _, i := range s.live {
		if c.usable(i) {
			if point -= c.g.members[i].weight; point < 0 {
				return i
			}
		}
	}
	return c.least(s) // another loop has filled some meanwhile
}

// least takes the server with the fewest connections per weight. Ties are broken at random by weight.
func (c *choice) least(s *set) int32 {
	if !s.even {
		return c.leastWeighted(s)
	}
	best, least, equal := int32(none), math.MaxInt, int64(0)
	for _, i := range s.live {
		n := c.g.members[i].load.N()
		if n > least || !c.usable(i) {
			continue
		}
		if n < least {
			least, equal = n, 0
		}
		if equal++; equal == 1 || c.p.below(equal) == 0 {
			best = i
		}
	}
	return best
}

// leastWeighted is least for servers of different weights. Servers tie if they carry less than the least burden: no
// other would be better off without the connection than they are with it. Each of them has one place for it, among
// all places that are free up to its burden, and is chosen with that probability.
func (c *choice) leastWeighted(s *set) int32 {
	best, least := int32(none), math.Inf(1)
	for _, i := range s.live {
		if burden := c.burden(i); burden < least && c.usable(i) {
			best, least = i, burden
		}
	}
	most := 0.0 // the greatest burden of tied servers
	for _, i := range s.live {
		if c.carried(i) < least && c.usable(i) {
			most = max(most, c.burden(i))
		}
	}
	weight, connections := 0.0, 0.0 // of servers with places below that
	for _, i := range s.live {
		if m := &c.g.members[i]; c.carried(i) < most && c.usable(i) {
			weight += float64(m.weight)
			connections += float64(m.load.N())
		}
	}
	// The probabilities of the tied servers sum up to about 1. If the sum exceeds 1, those from a random start on
	// keep theirs.
	left := c.p.fraction()
	start := int(c.p.below(int64(len(s.live))))
	for _, part := range [2][]int32{s.live[start:], s.live[:start]} {
		for _, i := range part {
			if c.carried(i) < least && c.usable(i) {
				if left -= 1 / max(1, c.burden(i)*weight-connections); left < 0 {
					return i
				}
			}
		}
	}
	return best
}
