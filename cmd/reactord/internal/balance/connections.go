package balance

import "math"

// p2c and least_connections compare how many connections a server would have for its weight: (n+1)/weight. With
// n/weight, an idle server of weight 1 would look as good as an idle one of weight 100.

// burden is what a member would carry with one more connection.
func (c *choice) burden(i int32) float64 {
	m := &c.g.members[i]
	return float64(m.load.N()+1) * m.inverse
}

// twoRandomTries is how many pairs are drawn until one of both can be used; for random, how many servers.
const twoRandomTries = 4

// twoRandom draws two servers by their weights, and takes the one with fewer connections for its weight.
func (c *choice) twoRandom(s *set) int32 {
	for range twoRandomTries {
		a, b := c.pair(s)
		first, second := c.usable(a), c.usable(b)
		switch {
		case second && (!first || c.burden(b) < c.burden(a)):
			return b
		case first:
			return a
		}
	}
	return c.least(s) // nearly all were tried or are full
}

// pair draws two different members of live, or the same twice if there is one only.
func (c *choice) pair(s *set) (a, b int32) {
	k := s.at(c.p.below(s.total))
	a = s.live[k]
	if len(s.live) == 1 {
		return a, a
	}
	// The second is drawn from the others: their intervals without that of the first.
	weight := c.g.members[a].weight
	point := c.p.below(s.total - weight)
	if point >= s.sums[k]-weight {
		point += weight
	}
	return a, s.live[s.at(point)]
}

// random draws a server by the weights.
func (c *choice) random(s *set) int32 {
	for range twoRandomTries {
		if i := s.live[s.at(c.p.below(s.total))]; c.usable(i) {
			return i
		}
	}
	total := int64(0) // of those that can be used: nearly all were tried or are full
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

// least takes the server that has the fewest connections for its weight; among equals the first from a random place
// on.
func (c *choice) least(s *set) int32 {
	best, least := int32(none), math.Inf(1)
	start := int(c.p.below(int64(len(s.live))))
	for _, part := range [2][]int32{s.live[start:], s.live[:start]} {
		for _, i := range part {
			if burden := c.burden(i); burden < least && c.usable(i) {
				best, least = i, burden
			}
		}
	}
	return best
}
