package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/netset"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// router chooses the backends of a listener's connections: the one of the first route that matches. It does not change,
// and all loops share it. To find a route takes a look into a map for each label of the SNI, not one at each route.
type router struct {
	routes   []route
	exact    map[string][]int // by SNI: the routes that name it, in order
	below    map[string][]int // by NAME of "*.NAME"
	any      []int            // routes without SNI
	fallback *upstream.Backend
	hello    bool // a route needs the ClientHello
}

type route struct {
	name                  string
	to                    *upstream.Backend
	alpn                  []string
	sources, destinations *netset.Set // nil: all
}

// newRouter makes the router of a listener.
func newRouter(l *config.Listener, backends map[string]*upstream.Backend) (*router, error) {
	r := &router{exact: map[string][]int{}, below: map[string][]int{}}
	if l.Backend != "" {
		if r.fallback = backends[l.Backend]; r.fallback == nil {
			return nil, fmt.Errorf("there is no backend %q", l.Backend)
		}
	}
	for i := range l.Routes {
		c := &l.Routes[i]
		to := backends[c.Backend]
		if to == nil {
			return nil, fmt.Errorf("route %d: there is no backend %q", i+1, c.Backend)
		}
		r.add(c, to)
	}
	return r, nil
}

func (r *router) add(c *config.Route, to *upstream.Backend) {
	name := c.Name
	if name == "" {
		name = c.Backend
	}
	index := len(r.routes)
	r.routes = append(r.routes, route{name, to, c.ALPN, networks(c.Sources), networks(c.Destinations)})
	r.hello = r.hello || len(c.SNI)+len(c.ALPN) != 0
	if len(c.SNI) == 0 {
		r.any = append(r.any, index)
	}
	for _, sni := range c.SNI {
		if name, wild := strings.CutPrefix(lowered(sni), "*."); wild {
			r.below[name] = append(r.below[name], index)
		} else {
			r.exact[name] = append(r.exact[name], index)
		}
	}
}

// route is the backend of a connection, and notes its route; nil: it has none.
func (r *router) route(c *conn) *upstream.Backend {
	if len(r.routes) == 0 {
		return r.fallback
	}
	i := r.find(&asked{c: c})
	if i == len(r.routes) {
		return r.fallback
	}
	c.identify().Route = r.routes[i].name
	return r.routes[i].to
}

// routeDatagram is the backend of a UDP session, and the name of its route.
func (r *router) routeDatagram(from, to netip.Addr) (*upstream.Backend, string) {
	i := r.find(&asked{source: from, destination: to})
	if i == len(r.routes) {
		return r.fallback, ""
	}
	return r.routes[i].to, r.routes[i].name
}

// find is the index of the first route that matches; the number of routes: none does.
func (r *router) find(a *asked) int {
	first := r.first(r.any, a, len(r.routes))
	if a.c == nil || a.c.known == nil || a.c.known.SNI == "" {
		return first
	}
	sni := a.c.known.SNI
	first = r.first(r.exact[sni], a, first)
	for {
		_, parent, more := strings.Cut(sni, ".")
		if !more {
			return first
		}
		first = r.first(r.below[parent], a, first)
		sni = parent
	}
}

// first is the first of these routes that matches, if it is before another one.
func (r *router) first(routes []int, a *asked, before int) int {
	for _, i := range routes {
		if i >= before {
			break
		}
		if r.routes[i].matches(a) {
			return i
		}
	}
	return before
}

// matches reports whether all conditions hold but that of the SNI.
func (r *route) matches(a *asked) bool {
	if len(r.alpn) != 0 && (a.c == nil || a.c.known == nil || !slices.ContainsFunc(a.c.known.Offered, r.offers)) {
		return false
	}
	return (r.sources == nil || r.sources.Contains(a.from())) && (r.destinations == nil || r.destinations.Contains(a.to()))
}

func (r *route) offers(protocol string) bool { return slices.Contains(r.alpn, protocol) }

// asked is a connection whose route is looked for. The kernel is asked for an address once, and only if a route needs
// it.
type asked struct {
	c                   *conn // nil: a UDP session, whose addresses are known
	source, destination netip.Addr
}

func (a *asked) from() netip.Addr {
	if !a.source.IsValid() {
		a.source = a.c.clientAddr().Addr()
	}
	return a.source
}

func (a *asked) to() netip.Addr {
	if !a.destination.IsValid() {
		a.destination = a.c.destination().Addr()
	}
	return a.destination
}

// header reports whether connections begin with a PROXY header.
func (s *settings) header() bool { return s.trusted != nil }

// asks reports whether clients ask for TLS in another protocol.
func (s *settings) asks() bool { return s.StartTLS != "none" }
