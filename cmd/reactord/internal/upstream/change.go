package upstream

import (
	"net/netip"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// Change is a plan that is prepared.
type Change struct {
	directory    *Directory
	before, next table
	backends     map[string]*Backend
	groups       map[string]*Group // as they are if no server's state changes until Commit
}

// membership is a backend with its settings and servers in a plan, or in several. It does not change.
type membership struct {
	backend *Backend
	plan    plan.Backend // a copy: a pointer would keep all of the plan alive
	servers []*Server    // in the order of plan.Servers
	byKey   map[netip.AddrPort]*Server
}

// Prepare makes what a plan needs and the plan before it did not have. Nothing of it is visible until Commit. The next
// Prepare assumes that the change is committed, unless it was discarded.
func (d *Directory) Prepare(p *plan.Plan) *Change {
	c := &Change{
		directory: d,
		before:    d.planned,
		next:      make(table, len(p.Backends)),
		backends:  make(map[string]*Backend, len(p.Backends)),
		groups:    make(map[string]*Group, len(p.Backends)),
	}
	for i := range p.Backends {
		b := &p.Backends[i]
		name := b.Settings.Name
		before := c.before[name]
		if before.same(b) {
			c.next[name], c.backends[name] = before, before.backend
			continue
		}
		d.preload(&b.Settings.Check)
		m := d.prepare(b, before)
		g := newGroup(m, m.backend.Group())
		if before == nil {
			m.backend.group.Store(g) // nobody has the backend yet
		}
		c.next[name], c.backends[name], c.groups[name] = m, m.backend, g
	}
	d.planned = c.next
	return c
}

// same reports whether the backend is the same in another plan.
func (m *membership) same(b *plan.Backend) bool {
	return m != nil && m.plan.Settings == b.Settings && slices.Equal(m.plan.Servers, b.Servers)
}

// prepare makes the membership of a backend. before is what it was; nil: the backend is new.
func (d *Directory) prepare(b *plan.Backend, before *membership) *membership {
	m := &membership{
		plan:    *b,
		servers: make([]*Server, len(b.Servers)),
		byKey:   make(map[netip.AddrPort]*Server, len(b.Servers)),
	}
	if before != nil {
		m.backend = before.backend
	} else {
		m.backend = newBackend(d, b)
	}
	for i := range b.Servers {
		address := b.Servers[i].Address
		var s *Server
		if before != nil {
			s = before.byKey[address]
		}
		if s == nil {
			s = newServer(m.backend, &b.Servers[i], before != nil && b.Settings.Balance.SlowStart != 0)
		}
		m.servers[i], m.byKey[address] = s, s
	}
	return m
}

// Backends is the table of the loops: the backends of the plan by name. It does not change. A loop may use it before
// Commit was called.
func (c *Change) Backends() map[string]*Backend { return c.backends }

// Commit puts the change in force. It is called on the control loop, in the order of the calls of Prepare.
func (c *Change) Commit() {
	next, before := c.next, *c.directory.inForce.Load()
	c.directory.inForce.Store(&next) // not &c.next: it would keep the plan before alive
	for name, m := range c.next {
		if before[name] != m {
			m.backend.commit(m, c.groups[name])
		}
	}
	for name, m := range before {
		if c.next[name] == nil {
			m.backend.retire()
		}
	}
}

// Discard drops a change that is not committed. It is called on the planner's goroutine.
func (c *Change) Discard() { c.directory.planned = c.before }
