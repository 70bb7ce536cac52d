package balance

import "github.com/reactord/reactord/cmd/reactord/internal/config"

// p2c draws two servers by their weights, and takes the one with fewer connections for its weight. Shares follow the
// weights with few connections, too.
func init() { policies[config.P2C] = &policy{pick: (*choice).twoRandom} }

// twoRandom draws two servers by weight, and takes the one with fewer connections per weight.
func (c *choice) twoRandom(s *set) int32 {
	for range drawTries {
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
