package laboratory

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// What a client does of which nothing is said.
const (
	defaultExchanges = 3
	defaultPause     = 200 * time.Millisecond
	defaultRequest   = 500
	defaultResponse  = 8000
	defaultPatience  = 10 * time.Second
	defaultLatency   = 5 * time.Millisecond
	defaultCrypto    = time.Millisecond
	serverLatency    = 5 * time.Millisecond
)

// session estimates how long a connection of such a client lasts.
const session = defaultExchanges*(2*defaultLatency+serverLatency) + (defaultExchanges-1)*defaultPause + 4*defaultLatency

// The networks that clients come from of which nothing is said: those that are set aside for benchmarks.
var (
	clients4 = netip.MustParsePrefix("198.18.0.0/15")
	clients6 = netip.MustParsePrefix("2001:2::/48")
)

// mostListeners limits the listeners that clients come to of which nothing is said, of a range of ports.
const mostListeners = 16

// allClients returns clients for each listener and route of a plan: such that each route has clients that meet its
// conditions. rate is how many come in a second, in total; 0: as many as fill three fifths of what the limits allow.
func allClients(p *plan.Plan, rate float64) (all []simulation.Clients) {
	ranges := map[string]int{}
	for i := range p.Listeners {
		l := &p.Listeners[i]
		of, _, isRange := strings.Cut(l.Name, ":")
		if ranges[of]++; isRange && ranges[of] > mostListeners || !simulation.Simulates(l) {
			continue
		}
		unconditional := false
		for n := range l.Routes {
			r := &l.Routes[n]
			c := clientsOf(l)
			c.Name = l.Name + "/" + cmp.Or(r.Name, r.Backend)
			adapt(&c, l, n)
			unconditional = unconditional || r.Unconditional()
			all = append(all, c)
		}
		if !unconditional && l.Backend != "" {
			c := clientsOf(l)
			for n := range l.Routes {
				for _, s := range l.Routes[n].Sources {
					c.Avoid = append(c.Avoid, s.Prefix)
				}
			}
			all = append(all, c)
		}
	}
	all = slices.DeleteFunc(all, func(c simulation.Clients) bool { // whose addresses cannot be
		return slices.ContainsFunc(p.Listeners, func(l plan.Listener) bool {
			return l.Name == c.Listener && !c.Fits(l.Bind.Addr())
		})
	})
	for i := range all {
		if all[i].Rate = rate / float64(len(all)); rate == 0 {
			all[i].Rate = fitting(p, &all[i]) / float64(len(all))
		}
	}
	return all
}

// clientsOf returns clients of a listener.
func clientsOf(l *plan.Listener) simulation.Clients {
	c := simulation.Clients{
		Name: l.Name, Listener: l.Name, Network: clients4, Latency: defaultLatency, Crypto: defaultCrypto,
		Exchanges: defaultExchanges, Pause: defaultPause, Request: defaultRequest, Response: defaultResponse,
		Patience: defaultPatience, End: simulation.EndHalfClose,
	}
	if a := l.Bind.Addr(); a.Is6() && !a.IsUnspecified() {
		c.Network = clients6
	}
	allow(&c, l.Allow, l.Deny)
	for _, p := range written(l.ProxyProtocol.Trusted) {
		if bind := l.Bind.Addr(); !c.Via.IsValid() && (bind.IsUnspecified() && bind.Is6() || bind.Is6() == p.Addr().Is6()) {
			if c.Via = p.Addr().Next(); !p.Contains(c.Via) {
				c.Via = p.Addr()
			}
		}
	}
	c.TLS = l.Keys != nil || slices.ContainsFunc(l.Routes, func(r config.Route) bool {
		return len(r.SNI) > 0 || len(r.ALPN) > 0 || r.Transport == config.TLSTransport
	})
	return c
}

// allow makes clients come from networks that are allowed.
// Networks of live sets are not looked at.
func allow(c *simulation.Clients, allow, deny []config.Prefix) {
	allow, deny = written(allow), written(deny)
	if len(allow) > 0 && !slices.ContainsFunc(allow, func(p config.Prefix) bool { return p.Overlaps(c.Network) }) {
		c.Network = likely(c, allow)
	} else if i := slices.IndexFunc(allow, func(p config.Prefix) bool { return p.Overlaps(c.Network) }); i >= 0 &&
		allow[i].Bits() > c.Network.Bits() {
		c.Network = allow[i].Prefix
	}
	for _, p := range deny {
		c.Avoid = append(c.Avoid, p.Prefix)
	}
}

// written returns networks without those of live sets.
func written(all []config.Prefix) (networks []config.Prefix) {
	for _, p := range all {
		if p.Set == "" {
			networks = append(networks, p)
		}
	}
	return networks
}

// likely returns the first of some networks with addresses of the family of the clients, or the first.
func likely(c *simulation.Clients, networks []config.Prefix) netip.Prefix {
	for _, p := range networks {
		if c.Via.IsValid() || p.Addr().Is6() == c.Network.Addr().Is6() {
			return p.Prefix
		}
	}
	return networks[0].Prefix
}

// adapt makes clients meet the conditions of a route, and not those of the routes in front of it, if possible.
func adapt(c *simulation.Clients, l *plan.Listener, index int) {
	r := &l.Routes[index]
	sources := written(r.Sources)
	if len(r.SNI) > 0 {
		c.SNI = strings.Replace(r.SNI[0], "*", "any", 1) // a name that seldom has a route of its own
	}
	for i := range index {
		for _, p := range written(l.Routes[i].Sources) {
			if len(sources) == 0 || sources[0].Overlaps(p.Prefix) && p.Bits() > sources[0].Bits() {
				c.Avoid = append(c.Avoid, p.Prefix)
			}
		}
	}
	if len(r.ALPN) > 0 {
		c.ALPN = r.ALPN[:1]
	}
	if r.Transport == config.RawTransport {
		c.TLS = false
	}
	if len(sources) > 0 {
		c.Network = likely(c, sources)
		allow(c, l.Allow, nil)
	}
	allow(c, r.Allow, r.Deny)
	if len(r.Destinations) > 0 {
		c.To = netip.AddrPortFrom(r.Destinations[0].Addr(), 0)
	}
	if len(r.DestinationPorts) > 0 {
		c.To = netip.AddrPortFrom(c.To.Addr(), uint16(r.DestinationPorts[0]))
	}
}

// fitting returns how many connections a second the limits of a plan allow easily to its clients.
func fitting(p *plan.Plan, c *simulation.Clients) float64 {
	const share, most = 0.6, 100.0
	rate := most
	limit := func(connections int) {
		if connections > 0 { // with four standard deviations of room
			mean := math.Pow(math.Sqrt(float64(connections)+4)-2, 2)
			rate = min(rate, min(share*float64(connections), mean)/session.Seconds())
		}
	}
	perSecond := func(n int) {
		if n > 0 {
			rate = min(rate, share*float64(n))
		}
	}
	limit(p.Limits.MaxConnections)
	perSecond(p.Limits.Rate.Connections)
	for i := range p.Listeners {
		if l := &p.Listeners[i]; l.Name == c.Listener {
			limit(l.MaxConnections)
			perSecond(l.Rate.Connections)
			if c.Network.Bits() >= 24 {
				perSecond(l.SourceRate.Connections)
				limit(l.SourceConnections.Max)
			}
		}
	}
	for i := range p.Backends {
		limit(capacityOf(&p.Backends[i], nil))
	}
	return rate
}

// capacityOf returns how many connections a backend can have without the servers for which gone returns true; 0: no
// limit. It is that of the servers of the first priority that has any.
func capacityOf(b *plan.Backend, gone func(*plan.Server) bool) (connections int) {
	servers, unlimited := preferred(b, gone), false
	for _, s := range servers {
		connections += s.MaxConnections
		unlimited = unlimited || s.MaxConnections == 0
	}
	if most := b.Settings.MaxConnections; unlimited || most > 0 && most < connections {
		connections = most
	}
	return connections
}

// preferred returns the servers that get connections while all are up, but for those for which gone returns true.
func preferred(b *plan.Backend, gone func(*plan.Server) bool) (all []*plan.Server) {
	for i := range b.Servers {
		s := &b.Servers[i]
		if s.State != plan.Up || s.Weight == 0 || gone != nil && gone(s) {
			continue
		}
		if len(all) > 0 {
			if first := all[0]; first.Backup && !s.Backup || first.Backup == s.Backup && s.Priority < first.Priority {
				all = all[:0]
			} else if first.Backup != s.Backup || s.Priority != first.Priority {
				continue
			}
		}
		all = append(all, s)
	}
	return all
}
