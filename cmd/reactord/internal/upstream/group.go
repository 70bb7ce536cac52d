package upstream

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Group is the servers that connections are spread over. It does not change.
type Group struct {
	*balance.Group
	// Servers are those that the indexes of Group mean.
	Servers []*Server

	made inputs
}

// inputs are what a group is made of.
type inputs struct {
	settings config.Balance
	servers  []balance.Server
}

func (i *inputs) equal(o *inputs) bool {
	return i.settings == o.settings && slices.Equal(i.servers, o.servers)
}

// newGroup is the group of the servers that take part. It may be called from any thread. If the given group is made of
// the same, it is that.
func newGroup(m *membership, old *Group) *Group {
	g := &Group{
		Servers: make([]*Server, 0, len(m.servers)),
		made:    inputs{m.plan.Settings.Balance, make([]balance.Server, 0, len(m.servers))},
	}
	for i, s := range m.servers {
		p := &m.plan.Servers[i]
		st := s.standing.Load()
		state, weight := st.stateIn(planned(p)), st.weight(p.Weight)
		if !state.takesPart() || weight == 0 {
			continue
		}
		g.Servers = append(g.Servers, s)
		g.made.servers = append(g.made.servers, balance.Server{
			Key: p.Address, Weight: weight, Priority: p.Priority, Backup: p.Backup, Locality: p.Locality,
			Healthy: state == Up, Ejected: state == Ejected, Waiting: state == Waiting, Load: &s.Load,
		})
	}
	g.made.settings.SubsetKey = subsetKey(&g.made.settings)
	reduce(g.made.servers)
	if old == nil {
		g.Group = balance.NewGroup(&g.made.settings, g.made.servers)
		return g
	}
	if old.made.equal(&g.made) {
		return old
	}
	g.Group = old.Renew(&g.made.settings, g.made.servers)
	return g
}

// reduce makes the weights as small as they can be in proportion.
func reduce(servers []balance.Server) {
	divisor := 0
	for i := range servers {
		for a, b := servers[i].Weight, divisor; ; a, b = b, a%b {
			if b == 0 {
				divisor = a
				break
			}
		}
	}
	for i := range servers {
		servers[i].Weight /= divisor
	}
}
