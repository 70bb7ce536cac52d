package plan

import (
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Control is the part that a control plane contributes: listeners and backends in addition to those of the file. A name
// or an address in the file belongs to the file. A Control and what it refers to are immutable.
type Control struct {
	Listeners []config.Listener // with every setting; they refer to Backends of the same Control only
	Backends  []config.Backend  // with every setting but Servers; of Discovery, DNS finds further servers
	// Servers are the servers of Backends, by name.
	Servers map[string][]Server
	// RouteKeys has the keys of a listener's routes, by the name of the listener and the index of the route, with nil
	// for a route without TLS termination.
	RouteKeys map[string][]*certs.Server
	// Keys has the keys of Backends, by name.
	Keys map[string]*certs.Client
	// Ready has the addresses on which the process itself answers whether it is ready.
	Ready []netip.AddrPort
	// Origin names the control plane, for people: "xds SERVER".
	Origin string

	sources   map[Source]bool      // see Sources
	postponed map[string]postponed // changes of backends that wait for an answer, by their names
}

// Without returns c without the items that are wrong, and without the listeners that refer to such a backend.
func (c *Control) Without(wrong []*ControlError) *Control {
	listeners, backends := map[string]bool{}, map[string]bool{}
	for _, w := range wrong {
		if w.Listener != "" {
			listeners[w.Listener] = true
		} else {
			backends[w.Backend] = true
		}
	}
	next := *c
	next.sources = nil
	next.Backends = slices.DeleteFunc(slices.Clone(c.Backends), func(b config.Backend) bool { return backends[b.Name] })
	next.Listeners = slices.DeleteFunc(slices.Clone(c.Listeners), func(l config.Listener) bool {
		return listeners[l.Name] || slices.ContainsFunc(backendsOf(&l), func(b string) bool { return backends[b] })
	})
	return &next
}

// backendsOf returns the names of the backends that a listener refers to.
func backendsOf(l *config.Listener) (all []string) {
	if l.Backend != "" {
		all = append(all, l.Backend)
	}
	for i := range l.Routes {
		for _, t := range l.Routes[i].Targets() {
			all = append(all, t.Backend)
		}
	}
	return all
}

func (c *Control) has(backend string) bool {
	return c != nil && slices.ContainsFunc(c.Backends, func(b config.Backend) bool { return b.Name == backend })
}

// Sources returns the sources of all backends, as [File.Sources] does. c may be nil.
func (c *Control) Sources() map[Source]bool {
	if c == nil {
		return nil
	}
	if c.sources == nil {
		c.sources = sourcesOf(c.Backends)
	}
	return c.sources
}

// Changed returns the names of the backends whose servers differ from those of was. only reports whether nothing else
// does.
func (c *Control) Changed(was *Control) (backends []string, only bool) {
	if c == nil || was == nil || c.Origin != was.Origin || !same(c.Listeners, was.Listeners) ||
		!same(c.Backends, was.Backends) || !same(c.Ready, was.Ready) || !c.sameKeys(was) {
		return nil, false
	}
	for i := range c.Backends {
		name := c.Backends[i].Name
		if now, before := c.Servers[name], was.Servers[name]; !same(now, before) {
			backends = append(backends, name)
		}
	}
	return backends, true
}

// same reports whether two lists are equal, quickly if they share their memory.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}

func (c *Control) sameKeys(was *Control) bool {
	return maps.EqualFunc(c.Keys, was.Keys, (*certs.Client).Same) &&
		maps.EqualFunc(c.RouteKeys, was.RouteKeys, func(a, b []*certs.Server) bool {
			return slices.EqualFunc(a, b, (*certs.Server).Same)
		})
}

// ControlError is the error of one item of a [Control]: a listener or a backend.
type ControlError struct {
	Listener string // its name, or ""
	Backend  string // its name, or ""
	Err      error
}

// Error returns the item and what is wrong with it.
func (e *ControlError) Error() string {
	if e.Listener != "" {
		return "listener " + e.Listener + ": " + e.Err.Error()
	}
	return "backend " + e.Backend + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *ControlError) Unwrap() error { return e.Err }

// ControlErrors separates the errors of single items in the error of a merge or a planner from the rest, which is nil
// if there is nothing else.
func ControlErrors(err error) (items []*ControlError, rest error) {
	var others []error
	var visit func(error)
	visit = func(err error) {
		var one *ControlError
		switch joined, many := err.(interface{ Unwrap() []error }); {
		case err == nil:
		case many:
			for _, e := range joined.Unwrap() {
				visit(e)
			}
		case errors.As(err, &one):
			items = append(items, one)
		default:
			others = append(others, err)
		}
	}
	visit(err)
	return items, errors.Join(others...)
}

// Blame returns an error of the target as a [ControlError] if it concerns a listener of the control plane.
func (p *Parts) Blame(err error) error {
	var l *ListenerError
	if p.Control == nil || !errors.As(err, &l) {
		return err
	}
	for i := range p.Control.Listeners {
		c := &p.Control.Listeners[i]
		if one := (Listener{Listener: config.Listener{Name: l.Listener}}); one.belongsTo(c) {
			return &ControlError{Listener: c.Name, Err: l.Err}
		}
	}
	return err
}
