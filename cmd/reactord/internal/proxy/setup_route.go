package proxy

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// router chooses the routes of a listener's connections: the first one that matches. It does not change, and all loops
// share it. To find a route takes a look into a map for each label of the SNI, not one at each route.
type router struct {
	routes     []route
	exact      map[string][]int // by SNI: the routes that name it, in order
	wildcard   map[string][]int // by NAME of "*.NAME"
	bySet      []int            // routes that name live sets
	any        []int            // routes without SNI
	fallback   targets          // of the listener itself
	needsHello bool             // a route needs the ClientHello
	decidesTLS bool             // whether TLS ends here, and how, depends on the route
	takesRaw   bool             // a route takes clients that speak no TLS
}

type route struct {
	name                  string
	names                 []*sets.Set // live sets of server names
	targets               targets
	alpn                  []string
	clients, destinations *addressSet // nil means all
	ports                 []int       // of destinations; empty: all
	transports            transports
	allow, deny           *addressSet     // nil if not written
	termination           *tlsTermination // if TLS ends here for the route
	limits                routeLimits
}

// transports is a set of what clients may speak on a route.
type transports uint8

const (
	speaksTLS transports = 1 << iota
	speaksRaw
)

// routeLimits override those of the backend for a route, where they are not 0.
type routeLimits struct{ idle, lifetime time.Duration }

// newRouter returns the router of a listener. ends is the TLS termination of the listener itself; terminations of the
// previous plan are reused from before.
func newRouter(l *plan.Listener, next *table, ends *tlsTermination, before tlsTerminations) (*router, error) {
	r := &router{exact: map[string][]int{}, wildcard: map[string][]int{}}
	if l.Backend != "" {
		to := next.backends[l.Backend]
		if to == nil {
			return nil, fmt.Errorf("there is no backend %q", l.Backend)
		}
		r.fallback = targets{{to, 1}}
	}
	for i := range l.Routes {
		c := &l.Routes[i]
		to, err := newTargets(c, next.backends)
		if err != nil {
			return nil, fmt.Errorf("route %d: %w", i+1, err)
		}
		made := newRoute(c, to, next.sets)
		switch own := routeKeys(l, i); {
		case own != nil:
			made.termination = next.termination(own, &c.TLS, before)
			r.decidesTLS = true
		case c.Passthrough:
			r.decidesTLS = r.decidesTLS || ends != nil
		case made.transports != speaksRaw:
			made.termination = ends
		}
		r.add(c, made)
	}
	r.decidesTLS = r.decidesTLS || r.takesRaw && ends != nil
	r.needsHello = r.needsHello || r.decidesTLS
	return r, nil
}

// routeKeys returns the certificates of a route that has some.
func routeKeys(l *plan.Listener, index int) *certs.Server {
	if index >= len(l.RouteKeys) {
		return nil
	}
	return l.RouteKeys[index]
}

func newRoute(c *config.Route, to targets, in *sets.Directory) route {
	made := route{
		name: c.Name, targets: to, alpn: c.ALPN, clients: networks(c.Sources, in), destinations: networks(c.Destinations, in),
		ports: c.DestinationPorts, transports: speaksTLS, allow: networks(c.Allow, in), deny: networks(c.Deny, in),
		limits: routeLimits{c.IdleTimeout, c.Lifetime},
	}
	for _, sni := range c.SNI {
		if set := config.SetOf(sni); set != "" {
			made.names = append(made.names, in.Set(set))
		}
	}
	if made.name == "" {
		made.name = c.Targets()[0].Backend
	}
	switch c.Transport {
	case config.RawTransport:
		made.transports = speaksRaw
	case config.AnyTransport:
		made.transports = speaksTLS | speaksRaw
	}
	return made
}

func (r *router) add(c *config.Route, made route) {
	index := len(r.routes)
	r.routes = append(r.routes, made)
	r.needsHello = r.needsHello || len(c.SNI)+len(c.ALPN) != 0 ||
		c.Transport == config.TLSTransport || c.Transport == config.RawTransport
	r.takesRaw = r.takesRaw || made.transports&speaksRaw != 0
	if len(c.SNI) == 0 {
		r.any = append(r.any, index)
	}
	for _, sni := range c.SNI {
		if set := config.SetOf(sni); set != "" {
			if !slices.Contains(r.bySet, index) {
				r.bySet = append(r.bySet, index)
			}
			continue
		}
		if name, wild := strings.CutPrefix(normalizedName(sni), "*."); wild {
			r.wildcard[name] = append(r.wildcard[name], index)
		} else {
			r.exact[name] = append(r.exact[name], index)
		}
	}
}

// route returns the route of a request, or nil.
func (r *router) route(a *routeRequest) *route {
	if len(r.routes) == 0 {
		return nil
	}
	i := r.find(a)
	if i == len(r.routes) {
		return nil
	}
	return &r.routes[i]
}

// routing is where a connection or session goes.
type routing struct {
	route       *route          // nil: none matches, and the backend of the listener serves
	targets     targets         // to draw the backend from
	termination *tlsTermination // of TLS with the client, if that ends here
}

// choose returns where a request goes, or why it is refused: by its route, if there is one.
func (s *settings) choose(q *routeRequest) (to routing, refused *refusal) {
	switch to.route = s.router.route(q); {
	case to.route != nil:
		to.targets, to.termination = to.route.targets, to.route.termination
	case q.speaks != speaksRaw:
		to.targets, to.termination = s.router.fallback, s.termination
	}
	switch {
	case to.route != nil && to.route.restricted() && !to.route.allowed(q.clientAddr().Addr()):
		return to, &refusal{reasonDenied, errRouteDenied}
	case len(to.targets) == 0:
		return to, &refusal{reasonNoRoute, errNoRoute}
	case to.termination != nil && q.speaks == speaksRaw:
		return to, &refusal{reasonBadHello, errRaw}
	}
	return to, nil
}

var (
	errNoRoute     = errors.New("no route matches that has a backend, and the listener has none")
	errRouteDenied = errors.New("the client is not allowed to take the route")
	errRaw         = errors.New("TLS ends here for the route, and the client speaks none")
)

// restricted reports whether some clients may not take the route. To learn the address of a client is a system call.
func (r *route) restricted() bool { return r.allow != nil || r.deny != nil }

// allowed reports whether clients of an address may take the route.
func (r *route) allowed(ip netip.Addr) bool {
	return (r.allow == nil || r.allow.Contains(ip)) && (r.deny == nil || !r.deny.Contains(ip))
}

// nameOrEmpty returns the route's name, or "" for none.
func (r *route) nameOrEmpty() string {
	if r == nil {
		return ""
	}
	return r.name
}

// find returns the index of the first route that matches, or the number of routes.
func (r *router) find(a *routeRequest) int {
	first := r.first(r.any, a, len(r.routes))
	sni := a.identity().SNI
	if sni == "" {
		return first
	}
	first = r.first(r.exact[sni], a, first)
	for _, i := range r.bySet {
		if i >= first {
			break
		}
		if r.routes[i].hasName(sni) && r.routes[i].unmet(a) == noCondition {
			first = i
		}
	}
	for {
		_, parent, more := strings.Cut(sni, ".")
		if !more {
			return first
		}
		first = r.first(r.wildcard[parent], a, first)
		sni = parent
	}
}

// unmet returns the first condition of a route that does not hold, or noCondition.
func (r *router) unmet(i int, a *routeRequest) condition {
	if !r.named(i, a.identity().SNI) {
		return conditionSNI
	}
	return r.routes[i].unmet(a)
}

// named reports whether a route is for clients that ask for a name, or for none.
func (r *router) named(i int, sni string) bool {
	has := func(routes []int) bool {
		_, found := slices.BinarySearch(routes, i)
		return found
	}
	if has(r.any) || sni != "" && (has(r.exact[sni]) || r.routes[i].hasName(sni)) {
		return true
	}
	for more := sni != ""; more; {
		if _, sni, more = strings.Cut(sni, "."); more && has(r.wildcard[sni]) {
			return true
		}
	}
	return false
}

// hasName reports whether a live set of the route has a name.
func (r *route) hasName(sni string) bool {
	for _, s := range r.names {
		if s.ContainsName(sni) {
			return true
		}
	}
	return false
}

// first returns the first of these routes that matches, or before if that comes before it.
func (r *router) first(routes []int, a *routeRequest, before int) int {
	for _, i := range routes {
		if i >= before {
			break
		}
		if r.routes[i].unmet(a) == noCondition {
			return i
		}
	}
	return before
}

// condition is a condition of a route.
type condition uint8

const (
	noCondition condition = iota
	conditionSNI
	conditionTransport
	conditionALPN
	conditionSources
	conditionDestinations
	conditionPorts
)

// unmet returns the first condition that does not hold, that of the SNI aside, or noCondition.
func (r *route) unmet(a *routeRequest) condition {
	switch {
	case a.speaks != 0 && a.speaks&r.transports == 0:
		return conditionTransport
	case len(r.alpn) != 0 && !slices.ContainsFunc(a.identity().Offered, r.offers):
		return conditionALPN
	case r.clients != nil && !r.clients.Contains(a.clientAddr().Addr()):
		return conditionSources
	case r.destinations != nil && !r.destinations.Contains(a.destinationAddr().Addr()):
		return conditionDestinations
	case len(r.ports) != 0 && !slices.Contains(r.ports, int(a.destinationAddr().Port())):
		return conditionPorts
	}
	return noCondition
}

func (r *route) offers(protocol string) bool { return slices.Contains(r.alpn, protocol) }

// routeRequest is a connection or session that needs a route. It asks the kernel for an address once, and only if a
// route needs it.
type routeRequest struct {
	conn                *conn      // nil if what it is asked for is known
	known               *identity  // without conn; may be nil
	speaks              transports // 0 if unknown
	client, destination netip.AddrPort
	route               *route // of a UDP session
}

// identity returns the identity of the client, which may be empty.
func (q *routeRequest) identity() *identity {
	known := q.known
	if q.conn != nil {
		known = q.conn.identity
	}
	if known == nil {
		return &noIdentity
	}
	return known
}

func (q *routeRequest) clientAddr() netip.AddrPort {
	if !q.client.IsValid() && q.conn != nil {
		q.client = q.conn.clientAddr()
	}
	return q.client
}

func (q *routeRequest) destinationAddr() netip.AddrPort {
	if !q.destination.IsValid() && q.conn != nil {
		q.destination = q.conn.destination()
	}
	return q.destination
}

// expectsHeader reports whether connections begin with a PROXY header.
func (s *settings) expectsHeader() bool { return s.trusted != nil }

// hasPreamble reports whether clients ask for TLS in another protocol.
func (s *settings) hasPreamble() bool { return s.StartTLS != config.NoStartTLS }

// targets are the backends of a route that have a weight.
type targets []target

// target is a backend of a route.
type target struct {
	backend *upstream.Backend
	sum     uint64 // of the weights up to and including its own
}

// newTargets fails if there is no such backend.
func newTargets(c *config.Route, backends map[string]*upstream.Backend) (t targets, err error) {
	all := c.Targets()
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no backend %q", c.Backend)
	}
	sum := uint64(0)
	for _, w := range all {
		to := backends[w.Backend]
		if to == nil {
			return nil, fmt.Errorf("there is no backend %q", w.Backend)
		}
		if w.Weight > 0 {
			sum += uint64(w.Weight)
			t = append(t, target{to, sum})
		}
	}
	return t, nil
}

// draw returns a backend at random by the weights, or nil if none has one.
func (t targets) draw(random *rand.PCG) *upstream.Backend {
	switch len(t) {
	case 0:
		return nil
	case 1:
		return t[0].backend
	}
	point, _ := bits.Mul64(random.Uint64(), t[len(t)-1].sum)
	for i := range t {
		if point < t[i].sum {
			return t[i].backend
		}
	}
	return nil // it cannot be: the last sum is greater than each point
}
