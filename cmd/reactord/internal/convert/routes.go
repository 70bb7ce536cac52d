package convert

import (
	"reflect"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// match is the conditions of a route, all of which must hold. A nil list has no condition; an empty one never matches.
type match struct {
	sni, alpn []string
	src, dst  []config.Prefix
	ports     []int
	transport config.Transport // tls, raw, or "": any
}

// and returns what matches both.
func (m match) and(other match) match {
	both := match{
		sni:  intersectNames(m.sni, other.sni),
		alpn: intersectLists(m.alpn, other.alpn), src: intersect(m.src, other.src), dst: intersect(m.dst, other.dst),
		ports: intersectLists(m.ports, other.ports), transport: m.transport,
	}
	switch {
	case m.transport == "":
		both.transport = other.transport
	case other.transport != "" && other.transport != m.transport:
		both.sni = []string{} // never
	}
	return both
}

// possible reports whether a client can match.
func (m *match) possible() bool {
	empty := func(n int, isNil bool) bool { return n == 0 && !isNil }
	return !empty(len(m.sni), m.sni == nil) && !empty(len(m.alpn), m.alpn == nil) && !empty(len(m.src), m.src == nil) &&
		!empty(len(m.dst), m.dst == nil) && !empty(len(m.ports), m.ports == nil)
}

// isAny reports whether every client matches.
func (m *match) isAny() bool {
	return m.sni == nil && m.alpn == nil && m.src == nil && m.dst == nil && m.ports == nil && m.transport == ""
}

// onlySource reports whether the source is the only condition.
func (m *match) onlySource() bool {
	return m.src != nil && m.sni == nil && m.alpn == nil && m.dst == nil && m.ports == nil && m.transport == ""
}

// onlyTransport reports whether the transport is the only condition.
func (m *match) onlyTransport() bool {
	other := *m
	other.transport = ""
	return m.transport != "" && other.isAny()
}

// product returns what matches one of each.
func product(a, b []match) (all []match) {
	for _, x := range a {
		for _, y := range b {
			if both := x.and(y); both.possible() && len(all) < maxNames {
				all = append(all, both)
			}
		}
	}
	return all
}

func intersectLists[T comparable](a, b []T) []T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []T{}
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}

// intersectNames also takes "a.example.org" for a part of "*.example.org".
func intersectNames(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := []string{}
	for _, x := range a {
		for _, y := range b {
			switch {
			case x == y, covers(y, x):
				both = append(both, x)
			case covers(x, y):
				both = append(both, y)
			}
		}
	}
	return both
}

// covers reports whether a wildcard has a name.
func covers(wildcard, name string) bool {
	below, ok := strings.CutPrefix(wildcard, "*")
	return ok && strings.HasSuffix(name, below)
}

// target is where a match leads.
type target struct {
	match

	backend string // "": the connection is refused
}

// router makes the routes of a listener.
type router struct {
	targets []target
	backend string  // for the rest; "": it is refused
	rest    []match // what the rest must match; nil: anything
	tls     bool    // the listener ends TLS
	spare   string  // a backend for routes that refuse
}

// routes fills in the routes and the backend of a listener.
func (r *router) routes(l *config.Listener) {
	hello := slices.ContainsFunc(r.targets, func(t target) bool { return t.sni != nil || t.alpn != nil })
	rest := r.rest
	if rest == nil {
		rest = []match{{}}
	}
	hello = hello || slices.ContainsFunc(rest, func(m match) bool { return m.sni != nil || m.alpn != nil })
	for _, t := range r.targets {
		r.add(l, t, hello)
	}
	if r.backend == "" {
		return
	}
	for _, m := range rest {
		switch m := m; {
		case m.isAny() && (!hello || r.tls), m.onlyTransport() && m.transport == config.TLSTransport && (hello || r.tls):
			l.Backend = r.backend
		case m.isAny():
			route := config.NewRoute()
			route.Transport, route.Backend = config.AnyTransport, r.backend
			l.Routes = append(l.Routes, route)
		default:
			r.add(l, target{m, r.backend}, hello)
		}
	}
}

// add adds a route, or its conditions to the last one.
func (r *router) add(l *config.Listener, t target, hello bool) {
	if len(l.Routes) > 0 && l.Routes[len(l.Routes)-1].Unconditional() {
		return // no client gets here
	}
	route := config.NewRoute()
	route.SNI, route.ALPN, route.Sources, route.Destinations = t.sni, t.alpn, t.src, t.dst
	route.DestinationPorts, route.Backend = t.ports, t.backend
	switch {
	case r.tls && t.transport == config.RawTransport:
		return // every client speaks TLS
	case t.sni != nil || t.alpn != nil || r.tls:
	case t.transport == config.TLSTransport && hello: // as auto
	case t.transport != "":
		route.Transport = t.transport
	case hello:
		route.Transport = config.AnyTransport
	}
	if t.backend == "" {
		route.Name, route.Backend, route.Deny = "refused", r.spare, everywhere()
	}
	if route.Unconditional() && route.Transport == config.AutoTransport {
		l.Backend = route.Backend
		return
	}
	if n := len(l.Routes); n == 0 || !joinRoutes(&l.Routes[n-1], &route) {
		l.Routes = append(l.Routes, route)
	}
}

// joinRoutes adds the values of a route to the route before it, if they differ in one list only.
func joinRoutes(before, route *config.Route) bool {
	for _, list := range []func(*config.Route) any{
		func(r *config.Route) any { return &r.SNI }, func(r *config.Route) any { return &r.ALPN },
		func(r *config.Route) any { return &r.Sources }, func(r *config.Route) any { return &r.Destinations },
		func(r *config.Route) any { return &r.DestinationPorts },
	} {
		a, b := reflect.ValueOf(list(before)).Elem(), reflect.ValueOf(list(route)).Elem()
		if a.Len() == 0 || b.Len() == 0 {
			continue
		}
		x, y := *before, *route
		reflect.ValueOf(list(&x)).Elem().SetZero()
		reflect.ValueOf(list(&y)).Elem().SetZero()
		if !reflect.DeepEqual(x, y) {
			continue
		}
		for i := range b.Len() {
			if !containsValue(a, b.Index(i)) {
				a.Set(reflect.Append(a, b.Index(i)))
			}
		}
		return true
	}
	return false
}

func containsValue(list, v reflect.Value) bool {
	for i := range list.Len() {
		if list.Index(i).Interface() == v.Interface() {
			return true
		}
	}
	return false
}
