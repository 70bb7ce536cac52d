package balance

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// least_connections takes the server with the fewest connections for its weight. It looks at all of them. Ties are
// broken at random so that shares follow the weights with few connections, too.
func init() { policies[config.LeastConnections] = &policy{pick: (*choice).least} }

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

// leastWeighted picks like least, among servers of different weights. Servers tie if they carry less than the least
// burden: no other would be better off without the connection than they are with it. Each of them has one place for it,
// among all places that are free up to its burden, and is chosen with that probability.
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
