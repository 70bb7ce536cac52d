package upstream

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// Group holds the servers that connections are spread over. It is immutable.
type Group struct {
	*balance.Group
	// Servers are indexed as in Group.
	Servers []*Server

	made inputs
	at   map[serveraddr.Addr]int // indices of the servers, if clients stay at them
}

// Index returns the index of the server with an address, if clients stay at their servers.
func (g *Group) Index(server serveraddr.Addr) (i int, in bool) {
	i, in = g.at[server]
	return i, in
}

// inputs determine a group.
type inputs struct {
	policy  config.Balance
	servers []balance.Server
}

func (i *inputs) equal(o *inputs) bool {
	return i.policy == o.policy && slices.Equal(i.servers, o.servers)
}

// newGroup returns a group of the eligible servers, or old if it has the same inputs. It may be called from any
// thread.
func newGroup(m *membership, old *Group) *Group {
	g := &Group{
		Servers: make([]*Server, 0, len(m.servers)),
		made:    inputs{m.plan.Settings.Balance, make([]balance.Server, 0, len(m.servers))},
	}
	for i, s := range m.servers {
		p := &m.plan.Servers[i]
		st := s.status.Load()
		state, weight := st.stateIn(p), st.weight(p.Weight)
		if !state.eligible() || weight == 0 {
			continue
		}
		forcedDown := p.Health == plan.HealthDown
		if m.unchecked && !forcedDown {
			state = Up
		}
		g.Servers = append(g.Servers, s)
		g.made.servers = append(g.made.servers, balance.Server{
			Key: p.Address, Weight: weight, Priority: p.Priority, Backup: p.Backup, Locality: p.Locality,
			Healthy: state == Up, Ejected: state == Ejected, Waiting: state == Waiting, Out: forcedDown, Load: &s.Load,
		})
	}
	g.made.policy.SubsetKey = subsetKey(&g.made.policy)
	reduce(g.made.servers)
	if g.made.policy.Sticky.Time != 0 {
		g.at = make(map[serveraddr.Addr]int, len(g.Servers))
		for i, s := range g.Servers {
			g.at[s.Address] = i
		}
	}
	if old == nil {
		g.Group = balance.NewGroup(&g.made.policy, g.made.servers)
		return g
	}
	if old.made.equal(&g.made) {
		return old
	}
	g.Group = old.Renew(&g.made.policy, g.made.servers)
	return g
}

// reduce divides the weights by their greatest common divisor.
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
