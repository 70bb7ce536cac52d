package plan

import (
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// postponed is a change of a backend that waits until one of its new names is answered.
type postponed struct{ was, next controlBackend }

// controlBackend is one backend of a [Control].
type controlBackend struct {
	config  config.Backend
	servers []Server
	keys    *certs.Client
}

// backendAt returns the backend of this index.
func (c *Control) backendAt(i int) controlBackend {
	name := c.Backends[i].Name
	return controlBackend{c.Backends[i], c.Servers[name], c.Keys[name]}
}

// withBackends returns c with these backends in place of those of the same names.
func (c *Control) withBackends(forms map[string]controlBackend) *Control {
	next := *c
	next.sources, next.Backends, next.postponed = nil, slices.Clone(c.Backends), maps.Clone(c.postponed)
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

// Keep returns c with the backends of was in place of those that have servers in was and none in c because none of
// their names has been answered. Their new names are looked up, and [Control.Advance] makes the change.
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
		forms[next.config.Name] = before.withNames(next.config.DNS)
	}
	if len(forms) == 0 {
		return c
	}
	kept := c.withBackends(forms)
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

// inForce returns a backend as it is in force, without its postponed change.
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

// withNames returns b with further names to look up.
func (b controlBackend) withNames(names []config.DNS) controlBackend {
	known := Sources(&b.config)
	b.config.DNS = slices.Clip(b.config.DNS)
	for i := range names {
		if !slices.Contains(known, SourceOf(&b.config, &names[i])) {
			b.config.DNS = append(b.config.DNS, names[i])
		}
	}
	return b
}

// Awaits reports whether a postponed change waits for an answer of s. c may be nil.
func (c *Control) Awaits(s Source) bool {
	if c == nil {
		return false
	}
	p, ok := c.postponed[s.Backend]
	return ok && slices.Contains(Sources(&p.next.config), s)
}

// Advance returns c with the postponed change of a backend made.
func (c *Control) Advance(backend string) *Control {
	next := c.withBackends(map[string]controlBackend{backend: c.postponed[backend].next})
	delete(next.postponed, backend)
	return next
}
