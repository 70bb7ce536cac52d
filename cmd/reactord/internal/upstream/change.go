package upstream

import (
	"maps"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Change is a prepared plan.
type Change struct {
	directory    *Directory
	before, next table
	backends     map[string]*Backend
	prepared     []*prepared // new or changed backends
}

// membership is a backend with its settings and servers in one plan, or in several. It is immutable.
type membership struct {
	backend *Backend
	plan    plan.Backend // a copy, since a pointer would keep the whole plan alive
	servers []*Server    // in the order of plan.Servers
	byKey   map[serveraddr.Addr]*Server
	roster  *roster // nil if all servers are checked
	// unchecked says that no server is checked any longer: all of them count as healthy.
	unchecked bool
}

// prepared is a membership to be put in force.
type prepared struct {
	*membership
	leave     []*Server // servers that are no longer in the plan
	slow      bool      // new servers start slowly, or slow_start has changed
	group     *Group    // valid unless there are surprises
	surprises uint64    // of the backend when group was computed
}

// Prepare creates what a plan adds. Nothing of it is visible until Commit. The next Prepare builds on this change,
// unless it was discarded.
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

// Preview puts a plan in force without a loop, and returns its backends by name: no server is checked, and each stays
// as it begins. It is for a directory whose [Config] has no Loop, and is called once.
func (d *Directory) Preview(p *plan.Plan) map[string]*Backend {
	c := d.Prepare(p)
	next := c.next
	d.inForce.Store(&next)
	return c.Backends()
}

// same reports whether another plan has the same backend.
func (m *membership) same(b *plan.Backend) bool {
	return m != nil && m.plan.Settings == b.Settings && m.plan.Keys == b.Keys && slices.Equal(m.plan.Servers, b.Servers)
}

// prepare prepares a backend. before is nil for a new one.
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
		next.backend.group.Store(next.group) // no loop knows the backend yet
		return next
	}
	next.backend = before.backend
	next.surprises = next.backend.surprises.Load()
	next.slow = b.Settings.Balance.SlowStart != before.plan.Settings.Balance.SlowStart
	next.addServers(before, b.Settings.Balance.SlowStart != 0)
	next.group = newGroup(next.membership, next.backend.Group())
	return next
}

// addServers adopts the servers that stay, and creates new ones.
func (p *prepared) addServers(before *membership, slowly bool) {
	for i := range p.plan.Servers {
		server := &p.plan.Servers[i]
		s := before.byKey[server.Address]
		if s == nil {
			s = newServer(p.backend, p.plan.Settings, server, slowly)
			p.slow = p.slow || s.status.Load().permille < 1000
		}
		p.servers[i], p.byKey[server.Address] = s, s
	}
	for _, s := range before.servers {
		if p.byKey[s.Address] == nil {
			p.leave = append(p.leave, s)
		}
	}
}

// Backends returns the loops' table: the plan's backends by name. It is immutable, and may be used before Commit.
func (c *Change) Backends() map[string]*Backend { return c.backends }

// Commit puts the change in force. Calls are made on the control loop, in the order of Prepare.
func (c *Change) Commit() {
	next := c.next
	c.directory.inForce.Store(&next) // not &c.next, which would keep the previous plan alive
	for _, p := range c.prepared {
		p.backend.commit(p)
	}
	for _, name := range slices.Sorted(maps.Keys(c.before)) { // a seed plays the same again
		if c.next[name] == nil {
			c.before[name].backend.retire()
		}
	}
}

// Discard drops an uncommitted change. It is called on the planner's goroutine.
func (c *Change) Discard() { c.directory.planned = c.before }
