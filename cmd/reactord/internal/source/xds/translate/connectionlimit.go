package translate

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
)

// maxConnections is the largest limit on connections.
const maxConnections = 1 << 30

// readLimit reads the network filter connection_limit. A connection beyond the limit is reset immediately, not after
// the delay.
func readLimit(r reading, m *listenerpb.ConnectionLimit) int {
	n := m.GetMaxConnections().GetValue()
	if n == 0 {
		r.at("max_connections").refuse("write 1 or more")
	}
	return int(min(n, maxConnections))
}

// lesser returns the smaller of two limits, where 0 is none.
func lesser[N ~int | ~int64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// limit returns the limit of the listener. Envoy counts the connections of each chain, and reactord those of the
// listener, so chains with different limits are refused.
func (c *chainReader) limit(r reading) int {
	if len(slices.Compact(slices.Sorted(slices.Values(c.limits)))) > 1 {
		r.at("filter_chains").refuse("connection_limit: a listener has one limit, but its chains differ: " +
			"write the same limit into each chain")
	}
	if len(c.limits) == 0 {
		return 0
	}
	return c.limits[0]
}
