package upstream

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Change is a plan that is prepared.
type Change struct {
	directory    *Directory
	before, next table
	backends     map[string]*Backend
	prepared     []*prepared // the backends that are new or not the same
}

// membership is a backend with its settings and servers in a plan, or in several. It does not change.
type membership struct {
	backend *Backend
	plan    plan.Backend // a copy: a pointer would keep all of the plan alive
	servers []*Server    // in the order of plan.Servers
	byKey   map[serveraddr.Addr]*Server
	roster  *roster // nil: all servers are checked
}

// prepared is a membership that is to be put in force.
type prepared struct {
	*membership
	leave     []*Server // those that were in the plan before
	slow      bool      // there are new servers that start slowly, or slow start is another
	group     *Group    // as it is if there are no surprises
	surprises uint64    // of the backend, until then
}

// Prepare makes what a plan needs and the plan before it did not have. Nothing of it is visible until Commit. The next
// Prepare assumes that the change is committed, unless it was discarded.
func (d *Directory) Prepare(p *plan.Plan) *Change {
	c := &Change{
		directory: d,
		before:    d.planned,
		next:      make(table, len(p.Backends)),
		backends:  make(map[string]*Backend, len(p.Backends)),
	}
	for i := range p.Backends {
		b := &p.Backends[i]
		name := b.Settings.Name
		m := c.before[name]
		if !m.same(b) {
			next := d.prepare(b, m)
			c.prepared = append(c.prepared, next)
			m = next.membership
		}
		c.next[name], c.backends[name] = m, m.backend
	}
	d.planned = c.next
	return c
}

// same reports whether the backend is the same in another plan.
func (m *membership) same(b *plan.Backend) bool {
	return m != nil && m.plan.Settings == b.Settings && m.plan.Keys == b.Keys && slices.Equal(m.plan.Servers, b.Servers)
}

// prepare prepares a backend. before is what it was; nil: the backend is new.
func (d *Directory) prepare(b *plan.Backend, before *membership) *prepared {
	d.preload(b.Settings)
	next := &prepared{membership: &membership{
		plan:    *b,
		servers: make([]*Server, len(b.Servers)),
		byKey:   make(map[serveraddr.Addr]*Server, len(b.Servers)),
		roster:  newRoster(b),
	}}
	if before == nil {
		next.backend = newBackend(d, b)
		next.addServers(&membership{}, false)
		next.group = newGroup(next.membership, nil)
		next.backend.group.Store(next.group) // no loop has the backend yet
		return next
	}
	next.backend = before.backend
	next.surprises = next.backend.surprises.Load()
	next.slow = b.Settings.Balance.SlowStart != before.plan.Settings.Balance.SlowStart
	next.addServers(before, b.Settings.Balance.SlowStart != 0)
	next.group = newGroup(next.membership, next.backend.Group())
	return next
}

// addServers takes servers over, and makes those that are new.
func (p *prepared) addServers(before *membership, slowly bool) {
	for i := range p.plan.Servers {
		server := &p.plan.Servers[i]
		s := before.byKey[server.Address]
		if s == nil {
			s = newServer(p.backend, p.plan.Settings, server, slowly)
			p.slow = p.slow || s.standing.Load().permille < 1000
		}
		p.servers[i], p.byKey[server.Address] = s, s
	}
	for _, s := range before.servers {
		if p.byKey[s.Address] == nil {
			p.leave = append(p.leave, s)
		}
	}
}

// Backends is the table of the loops: the backends of the plan by name. It does not change. A loop may use it before
// Commit was called.
func (c *Change) Backends() map[string]*Backend { return c.backends }

// Commit puts the change in force. It is called on the control loop, in the order of the calls of Prepare.
func (c *Change) Commit() {
	next := c.next
	c.directory.inForce.Store(&next) // not &c.next: it would keep the plan before alive
	for _, p := range c.prepared {
		p.backend.commit(p)
	}
	for name, m := range c.before {
		if c.next[name] == nil {
			m.backend.retire()
		}
	}
}

// Discard drops a change that is not committed. It is called on the planner's goroutine.
func (c *Change) Discard() { c.directory.planned = c.before }
