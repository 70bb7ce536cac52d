package balance

import "math"

// hashed picks by the client's address, within the bound if there is one and it leaves a server.
func (c *choice) hashed(s *set, index int) int32 {
	if c.g.loadFactor > 0 {
		c.bound = c.g.loadFactor * (c.p.mean.of(c.g, index) + s.inverse)
		i := c.byPolicy(s)
		c.bound = 0
		if i != none {
			return i
		}
	}
	return c.byPolicy(s)
}

func (c *choice) byPolicy(s *set) int32 {
	if c.g.policy == maglev {
		return c.maglev(s)
	}
	return c.rendezvous(s)
}

// rendezvous takes the first usable server in the client's order. Each server has a number u from (0, 1] for each
// client; the one with the least -ln(u)/weight is the first, which is each server by its weight. So a server that
// comes or goes moves its own clients only. Sources: Thaler and Ravishankar, "Using Name-Based Mappings to Increase
// Hit Rates", 1998; Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", 2005.
func (c *choice) rendezvous(s *set) int32 {
	best, least := int32(none), math.Inf(1)
	for _, i := range s.live {
		m := &c.g.members[i]
		u := float64(mix(c.hash^m.id)>>11+1) / (1 << 53)
		// -ln(u) is at least 1-u, which rules out most servers without a logarithm.
		if (1-u)*m.inverse >= least {
			continue
		}
		if cost := -math.Log(u) * m.inverse; cost < least && c.usable(i) {
			best, least = i, cost
		}
	}
	return best
}
