package plan

import (
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// postponed is a change of a backend that waits until one of its new names is answered.
type postponed struct{ was, next controlBackend }

// controlBackend is what a [Control] says of a backend.
type controlBackend struct {
	config  config.Backend
	servers []Server
	keys    *certs.Client
}

// backendAt returns what c says of the backend of an index.
func (c *Control) backendAt(i int) controlBackend {
	name := c.Backends[i].Name
	return controlBackend{c.Backends[i], c.Servers[name], c.Keys[name]}
}

// put returns c with other forms of backends.
func (c *Control) put(forms map[string]controlBackend) *Control {
	next := *c
	next.known, next.Backends, next.postponed = nil, slices.Clone(c.Backends), maps.Clone(c.postponed)
	next.Servers, next.Keys = maps.Clone(c.Servers), maps.Clone(c.Keys)
	if next.Servers == nil {
		next.Servers = map[string][]Server{}
	}
	if next.Keys == nil {
		next.Keys = map[string]*certs.Client{}
	}
	for i := range next.Backends {
		name := next.Backends[i].Name
		form, ok := forms[name]
		if !ok {
			continue
		}
		next.Backends[i], next.Servers[name] = form.config, form.servers
		if delete(next.Keys, name); form.keys != nil {
			next.Keys[name] = form.keys
		}
	}
	return &next
}

// Keep returns c with those backends as they are in was that have servers there and none in c, since none of their
// names has been answered. Their names are asked, and [Control.Advance] puts the change in force.
func (c *Control) Keep(was *Control, answered func(Source) bool) *Control {
	if c == nil || was == nil {
		return c
	}
	forms, waiting := map[string]controlBackend{}, map[string]postponed{}
	for i := range c.Backends {
		next := c.backendAt(i)
		if len(next.servers) > 0 || len(next.config.DNS) == 0 || slices.ContainsFunc(Sources(&next.config), answered) {
			continue
		}
		before, ok := was.inForce(next.config.Name)
		if !ok || len(before.servers) == 0 && !slices.ContainsFunc(Sources(&before.config), answered) {
			continue
		}
		waiting[next.config.Name] = postponed{before, next}
		forms[next.config.Name] = before.asking(next.config.DNS)
	}
	if len(forms) == 0 {
		return c
	}
	kept := c.put(forms)
	kept.postponed = waiting
	return kept
}

// Postponed returns the backends whose changes wait for an answer, in order. c may be nil.
func (c *Control) Postponed() []string {
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.postponed))
}

// inForce returns the form of a backend that has its servers.
func (c *Control) inForce(name string) (controlBackend, bool) {
	if p, ok := c.postponed[name]; ok {
		return p.was, true
	}
	for i := range c.Backends {
		if c.Backends[i].Name == name {
			return c.backendAt(i), true
		}
	}
	return controlBackend{}, false
}

// asking returns b with further names.
func (b controlBackend) asking(names []config.DNS) controlBackend {
	known := Sources(&b.config)
	b.config.DNS = slices.Clip(b.config.DNS)
	for i := range names {
		if !slices.Contains(known, SourceOf(&b.config, &names[i])) {
			b.config.DNS = append(b.config.DNS, names[i])
		}
	}
	return b
}

// Awaits reports whether an answer of s puts a postponed change in force. c may be nil.
func (c *Control) Awaits(s Source) bool {
	if c == nil {
		return false
	}
	p, ok := c.postponed[s.Backend]
	return ok && slices.Contains(Sources(&p.next.config), s)
}

// Advance returns c with the postponed change of a backend.
func (c *Control) Advance(backend string) *Control {
	next := c.put(map[string]controlBackend{backend: c.postponed[backend].next})
	delete(next.postponed, backend)
	return next
}
