package translate

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// chain is a filter chain: which connections it takes, and what happens to them.
type chain struct {
	name  string // or ""
	index int    // in the listener
	match match
	route config.Route // without conditions
	tls   *serverTLS   // nil unless it terminates TLS
	named named        // allowed names of clients
	bySNI bool         // the server name selects the cluster, and route has none
	use   demand       // demands on its backends
	// handshake limits a TLS handshake; 0 if unset.
	handshake time.Duration
	who       addresses // allowed clients; nil for all
}

// match holds the conditions of a filter chain. Empty ones match everything.
type match struct {
	port         uint16
	destinations []netip.Prefix
	names        []string         // server names, in lower case
	transport    config.Transport // TLS or raw
	protocols    []string
	clients      []netip.Prefix
}

// matched is a route for the connections of one filter chain.
type matched struct {
	config.Route
	chain *chain // nil for a route that resets connections
}

// maxRoutes limits the routes of a listener.
const maxRoutes = 20_000

// routes converts filter chains to routes, ordered such that the first match is the chain that Envoy chooses.
//
// Envoy evaluates one condition after the other: port, destination, server name, transport, protocols, and source.
// For each it continues with the chains with the most specific matching value, or else with those without one, and it
// never backtracks: if these chains do not match in a later condition, it takes the default chain, if any. So routes
// with more specific values come first, followed by one for the connections that Envoy would not give to less
// specific chains either.
//
// When a client offers protocols of several chains, Envoy follows the client's order, but routes are ordered. So such
// chains are an error.
func routes(chains []*chain, fallback *chain, clusters []string) ([]matched, error) {
	c := chooser{fallback: fallback, clusters: clusters}
	covered := c.port(chains, config.NewRoute(), false)
	if fallback != nil && !covered {
		c.last([]*chain{fallback}, config.NewRoute(), false)
	}
	if len(c.routes) > maxRoutes {
		c.fail("the filter chains have more than %d combinations of conditions", maxRoutes)
	}
	return c.routes, errors.Join(c.errs...)
}

// chooser is the state of routes. A method for each condition adds the routes for the chains that match so far, whose
// conditions so far are in r, and reports whether they take every such connection. more tells that less specific
// routes may follow, which must not take what these refuse.
type chooser struct {
	fallback *chain
	clusters []string // candidates of sni_cluster
	routes   []matched
	errs     []error
}

func (c *chooser) fail(format string, args ...any) {
	if err := fmt.Errorf(format, args...); len(c.errs) == 0 || c.errs[len(c.errs)-1].Error() != err.Error() {
		c.errs = append(c.errs, err)
	}
}

func (c *chooser) port(chains []*chain, r config.Route, more bool) bool {
	return stage(c, chains, r, more, c.destination,
		func(m *match) []uint16 { return optional(m.port) },
		func(uint16) int { return 1 },
		func(r *config.Route, ports []uint16) {
			for _, port := range ports {
				r.DestinationPorts = append(r.DestinationPorts, int(port))
			}
		})
}

func (c *chooser) destination(chains []*chain, r config.Route, more bool) bool {
	return stage(c, chains, r, more, c.name,
		func(m *match) []netip.Prefix { return m.destinations }, bits,
		func(r *config.Route, all []netip.Prefix) { r.Destinations = prefixes(all) })
}

func (c *chooser) name(chains []*chain, r config.Route, more bool) bool {
	return stage(c, chains, r, more, c.transport,
		func(m *match) []string { return m.names }, labels,
		func(r *config.Route, names []string) { r.SNI = names })
}

func (c *chooser) transport(chains []*chain, r config.Route, more bool) bool {
	return stage(c, chains, r, more, c.protocol,
		func(m *match) []config.Transport { return optional(m.transport) },
		func(config.Transport) int { return 1 },
		func(r *config.Route, all []config.Transport) { r.Transport = all[0] })
}

func (c *chooser) protocol(chains []*chain, r config.Route, more bool) bool {
	if r.Transport == config.RawTransport {
		if len(r.SNI) != 0 {
			return true // impossible: only TLS has names
		}
		chains = slices.DeleteFunc(slices.Clone(chains), func(ch *chain) bool { return len(ch.match.protocols) != 0 })
	}
	sets := 0
	covered := stage(c, chains, r, more, func(chains []*chain, r config.Route, more bool) bool {
		if len(r.ALPN) != 0 {
			sets++
		}
		return c.client(chains, r, more)
	},
		func(m *match) []string { return m.protocols },
		func(string) int { return 1 },
		func(r *config.Route, all []string) { r.ALPN = all })
	if sets > 1 {
		c.fail("application_protocols: several filter chains differ by it, so the client's order of protocols " +
			"would decide, which is not supported: tell them apart by server_names")
	}
	return covered
}

func (c *chooser) client(chains []*chain, r config.Route, more bool) bool {
	return stage(c, chains, r, more, c.last,
		func(m *match) []netip.Prefix { return m.clients }, bits,
		func(r *config.Route, all []netip.Prefix) { r.Sources = prefixes(all) })
}

// last adds the route of the only chain left.
func (c *chooser) last(chains []*chain, r config.Route, more bool) bool {
	if len(chains) > 1 {
		c.fail("filter chains %s and %s have the same filter_chain_match", chains[0].title(), chains[1].title())
	}
	if chains[0].bySNI {
		c.byName(chains[0], r)
		if more {
			c.reset(chains[0], r)
		}
		return true
	}
	c.add(chains[0], r, more)
	return true
}

// byName adds a route for each cluster that a client may select by its server name.
func (c *chooser) byName(ch *chain, r config.Route) {
	for _, name := range c.clusters {
		sni := strings.ToLower(name)
		if len(r.SNI) != 0 && !slices.ContainsFunc(r.SNI, func(pattern string) bool { return covers(pattern, sni) }) {
			continue
		}
		to := *ch
		to.route.Backend, to.bySNI = name, false
		with := r
		with.SNI = []string{sni}
		c.add(&to, with, false)
	}
}

// covers reports whether a server name matches the pattern of a route.
func covers(pattern, name string) bool {
	if below, wild := strings.CutPrefix(pattern, "*"); wild {
		return strings.HasSuffix(name, below)
	}
	return pattern == name
}

// title names the chain for people.
func (ch *chain) title() string { return cmp.Or(ch.name, "without a name") }

// add adds the route of a chain with the conditions in r.
func (c *chooser) add(ch *chain, r config.Route, more bool) {
	out := matched{ch.route, ch}
	out.SNI, out.ALPN, out.Transport = r.SNI, r.ALPN, r.Transport
	out.Sources, out.Destinations, out.DestinationPorts = r.Sources, r.Destinations, r.DestinationPorts
	if out.Transport == config.AutoTransport {
		out.Transport = config.AnyTransport
	}
	if ch.tls == nil {
		c.routes = append(c.routes, out)
		return
	}
	if out.Transport == config.RawTransport {
		c.reset(ch, r)
		return
	}
	raw := out.Transport == config.AnyTransport && len(out.SNI)+len(out.ALPN) == 0
	out.Transport = config.TLSTransport
	c.routes = append(c.routes, out)
	if raw && more { // connections without TLS fail here
		r.Transport = config.RawTransport
		c.reset(ch, r)
	}
}

// rest adds a route for connections that match r but no chain.
func (c *chooser) rest(like *chain, r config.Route) {
	if c.fallback == nil {
		c.reset(like, r)
		return
	}
	if c.fallback.bySNI {
		c.byName(c.fallback, r)
		c.reset(c.fallback, r)
		return
	}
	c.add(c.fallback, r, true)
}

// reset adds a route that resets connections. It has backends, which every route needs.
func (c *chooser) reset(like *chain, r config.Route) {
	r.Name, r.Backend, r.Backends = like.route.Name, like.route.Backend, like.route.Backends
	r.Deny = prefixes(everywhere)
	if r.Transport == config.AutoTransport {
		r.Transport = config.AnyTransport
	}
	c.routes = append(c.routes, matched{Route: r})
}

// everywhere covers all addresses.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// stage adds the routes of one condition: more specific values first, then chains without a value. values returns
// those of a chain, rank how specific a value is, and set makes a condition of values that the same chains have. next
// handles the following conditions.
func stage[V comparable](c *chooser, chains []*chain, r config.Route, more bool,
	next func([]*chain, config.Route, bool) bool,
	values func(*match) []V, rank func(V) int, set func(*config.Route, []V),
) bool {
	groups, without := grouped(chains, values, rank)
	for i, g := range groups {
		with := r
		set(&with, g.values)
		follow := more || len(without) != 0 || i < len(groups)-1 || c.fallback != nil
		if !next(g.chains, with, follow) && follow {
			c.rest(g.chains[0], with)
		}
		if len(c.routes) > maxRoutes {
			return true
		}
	}
	return len(without) != 0 && next(without, r, more)
}

// group is a set of values of the same rank that the same chains have.
type group[V comparable] struct {
	values []V
	chains []*chain
	rank   int
}

// grouped returns the groups of chains with a value, most specific first, and the chains without one.
func grouped[V comparable](chains []*chain, values func(*match) []V, rank func(V) int) ([]*group[V], []*chain) {
	having, order := map[V][]*chain{}, []V(nil)
	var without []*chain
	for _, ch := range chains {
		all := values(&ch.match)
		if len(all) == 0 {
			without = append(without, ch)
		}
		for _, v := range all {
			if _, known := having[v]; !known {
				order = append(order, v)
			}
			if have := having[v]; len(have) == 0 || have[len(have)-1] != ch { // skip duplicate values
				having[v] = append(have, ch)
			}
		}
	}
	var groups []*group[V]
	index := map[string]*group[V]{}
	for _, v := range order {
		key := strconv.AppendInt(nil, int64(rank(v)), 10)
		for _, ch := range having[v] {
			key = strconv.AppendInt(append(key, ' '), int64(ch.index), 10)
		}
		g := index[string(key)]
		if g == nil {
			g = &group[V]{chains: having[v], rank: rank(v)}
			groups, index[string(key)] = append(groups, g), g
		}
		g.values = append(g.values, v)
	}
	slices.SortStableFunc(groups, func(a, b *group[V]) int { return cmp.Compare(b.rank, a.rank) })
	return groups, without
}

// optional returns the value, unless it is zero.
func optional[V comparable](v V) []V {
	if v == *new(V) {
		return nil
	}
	return []V{v}
}

// bits returns how specific a network is. Networks of IPv4 and IPv6 do not overlap.
func bits(p netip.Prefix) int { return p.Bits() }

// labels returns how specific a server name is: a full name more than "*.NAME".
func labels(name string) int {
	if !strings.HasPrefix(name, "*.") {
		return 1 << 16
	}
	return strings.Count(name, ".")
}

func prefixes(all []netip.Prefix) (out []config.Prefix) {
	for _, p := range all {
		out = append(out, config.Prefix{Prefix: p})
	}
	return out
}
