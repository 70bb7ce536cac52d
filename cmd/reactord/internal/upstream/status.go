package upstream

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// BackendStatus is a reading of a backend, for people.
type BackendStatus struct {
	Name        string
	Connections int
	Limit       int  // of connections; 0: none
	Panic       bool // health is ignored, because too few servers are healthy
	Settings    *config.Backend
	Servers     []ServerStatus
}

// ServerStatus is a reading of a server, for people.
type ServerStatus struct {
	Name        string
	Address     netip.AddrPort
	Origin      string // where it comes from
	State       State
	Reason      string    // why it is not up
	Since       time.Time // when the state was entered
	Weight      int       // in the plan
	Percent     float64   // of the weight that is in force: less than 100 after it came up, or if its agent says so
	Connections int       // open ones
	Limit       int       // of connections; 0: none
	Total       uint64    // connects that succeeded
	Failures    uint64    // connects that failed
	Retries     uint64    // connections that failed over to the next server
	Ejections   uint64
	Check       *CheckStatus // the last; nil: there was none
	Plan        *plan.Server // what the plan says of it; read only
}

// Status reads the backends in force, in the order of their names. It may be called from any goroutine.
func (d *Directory) Status() []BackendStatus {
	var out []BackendStatus
	for _, m := range d.members() {
		b := m.backend
		s := BackendStatus{
			Name: b.Name, Connections: b.Load.N(), Limit: b.Load.Limit(), Panic: b.Group().Panic(),
			Settings: b.Settings(),
		}
		for _, server := range m.servers {
			s.Servers = append(s.Servers, server.Status())
		}
		out = append(out, s)
	}
	return out
}

// members are the backends in force, in the order of their names.
func (d *Directory) members() []*membership {
	t := *d.inForce.Load()
	var out []*membership
	for _, name := range slices.Sorted(maps.Keys(t)) {
		out = append(out, t[name])
	}
	return out
}

// Status reads the server. It may be called from any goroutine.
func (s *Server) Status() ServerStatus {
	p, st := s.settings.Load(), s.standing.Load()
	out := ServerStatus{
		Name: p.Name, Address: s.Address, Origin: p.Origin,
		State: st.state(), Reason: st.reason(), Since: st.since,
		Weight: p.Weight, Percent: float64(st.weight(100)) / 1000,
		Connections: s.Load.N(), Limit: s.Load.Limit(),
		Total: s.counters.connections.Load(), Retries: s.counters.retries.Load(), Ejections: s.counters.ejections.Load(),
		Check: s.checking.last.Load(), Plan: p,
	}
	for i := range s.counters.failures {
		out.Failures += s.counters.failures[i].Load()
	}
	return out
}
