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

// Control is the part of a control plane: listeners and backends beside those of the file. A name or an address that
// the file has belongs to the file. What it refers to is not changed any more.
type Control struct {
	Listeners []config.Listener // with every setting; they refer to Backends of the same Control only
	Backends  []config.Backend  // likewise, without Servers; of Discovery, DNS finds further servers
	// Servers are the servers of Backends, by name.
	Servers map[string][]Server
	// RouteKeys is what the TLS settings of a listener's routes hold, by the name of the listener and the index of the
	// route. nil: TLS does not end here for this route.
	RouteKeys map[string][]*certs.Server
	// Keys is what the TLS settings of Backends hold, by name.
	Keys map[string]*certs.Client
	// Ready is where the process itself answers whether it is ready.
	Ready []netip.AddrPort
	// Origin is who says it, for people: "xds SERVER".
	Origin string

	known     map[Source]bool      // see Sources
	postponed map[string]postponed // changes of backends that wait for an answer, by their names
}

// Without is c without the items that are wrong, and without the listeners of backends among them.
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
	next.known = nil
	next.Backends = slices.DeleteFunc(slices.Clone(c.Backends), func(b config.Backend) bool { return backends[b.Name] })
	next.Listeners = slices.DeleteFunc(slices.Clone(c.Listeners), func(l config.Listener) bool {
		return listeners[l.Name] || slices.ContainsFunc(referred(&l), func(b string) bool { return backends[b] })
	})
	return &next
}

// referred is the backends that a listener refers to.
func referred(l *config.Listener) (all []string) {
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
	if c.known == nil {
		c.known = sourcesOf(c.Backends)
	}
	return c.known
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

// same compares two lists, quickly if they are one.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}

func (c *Control) sameKeys(was *Control) bool {
	return maps.EqualFunc(c.Keys, was.Keys, (*certs.Client).Same) &&
		maps.EqualFunc(c.RouteKeys, was.RouteKeys, func(a, b []*certs.Server) bool {
			return slices.EqualFunc(a, b, (*certs.Server).Same)
		})
}

// ControlError is what is wrong with one item of a [Control]: a listener or a backend.
type ControlError struct {
	Listener string // its name, or ""
	Backend  string // its name, or ""
	Err      error
}

// Error says what is wrong with which item.
func (e *ControlError) Error() string {
	if e.Listener != "" {
		return "listener " + e.Listener + ": " + e.Err.Error()
	}
	return "backend " + e.Backend + ": " + e.Err.Error()
}

// Unwrap is the reason.
func (e *ControlError) Unwrap() error { return e.Err }

// ControlErrors takes the errors of single items out of what a merge or a planner has returned; rest is what concerns
// no item alone, or nil.
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

// Blame returns an error of the target with the item of the control plane that it concerns.
func (p *Parts) Blame(err error) error {
	var l *ListenerError
	if p.Control == nil || !errors.As(err, &l) {
		return err
	}
	for i := range p.Control.Listeners {
		c := &p.Control.Listeners[i]
		if one := (Listener{Listener: config.Listener{Name: l.Listener}}); one.of(c) {
			return &ControlError{Listener: c.Name, Err: l.Err}
		}
	}
	return err
}
