package balance

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// source_hash is weighted rendezvous hashing of the client's prefix. It is exact, and a server that comes, goes or
// changes its weight moves its own clients only. It looks at all servers.
func init() { policies[config.SourceHash] = &policy{pick: (*choice).rendezvous} }

// rendezvous takes the first usable server in the client's order. For each client, each server has a number u from
// (0, 1]; the one with the least -ln(u)/weight is first, which happens in proportion to the weights. A server that
// joins or leaves moves only its own clients. Sources: Thaler and Ravishankar, "Using Name-Based Mappings to Increase
// Hit Rates", 1998; Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", 2005.
func (c *choice) rendezvous(s *set) int32 {
	best, least := int32(none), math.Inf(1)
	for _, i := range s.live {
		m := &c.g.members[i]
		u := float64(mix(c.hash^m.id)>>11+1) / (1 << 53)
		// -ln(u) is at least 1-u, which rules out most servers without computing a logarithm.
		if (1-u)*m.inverse >= least {
			continue
		}
		if cost := -math.Log(u) * m.inverse; cost < least && c.usable(i) {
			best, least = i, cost
		}
	}
	return best
}
