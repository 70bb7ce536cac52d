package upstream

import "github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"

// Stats reads the counters of the backends in force, in the order of their names, and of their servers. It may be
// called from any goroutine.
func (d *Directory) Stats() (backends []proxymetrics.BackendStats, servers []proxymetrics.ServerStats) {
	for _, m := range d.members() {
		b := m.backend
		var states [stateCount]uint64
		for _, s := range m.servers {
			states[s.State()]++
			servers = append(servers, s.stats())
		}
		backends = append(backends, proxymetrics.BackendStats{
			Name:           b.Name,
			Connections:    b.began.Load(),
			Current:        int64(b.Load.N()),
			Limit:          b.Load.Limit(),
			RetriesRefused: b.retries.refused.Load(),
			Panic:          b.Group().Panic(),
			Panics:         b.panics.Load(),
			ConnectTime:    b.time.Read(),
			CheckTime:      b.checkTime.Read(),
		})
		last := &backends[len(backends)-1]
		for state, n := range states {
			last.Servers = append(last.Servers, proxymetrics.Count{Reason: stateNames[state], N: n})
		}
	}
	return backends, servers
}

func (s *Server) stats() proxymetrics.ServerStats {
	p, st := s.settings.Load(), s.standing.Load()
	out := proxymetrics.ServerStats{
		Backend:     s.Backend.Name,
		Name:        p.Name,
		States:      stateNames[:],
		State:       st.state().String(),
		Up:          st.state() == Up,
		Weight:      float64(st.weight(p.Weight)) / 1000,
		Connections: s.counters.connections.Load(),
		Current:     int64(s.Load.N()),
		Limit:       s.Load.Limit(),
		Retries:     s.counters.retries.Load(),
		Transitions: s.counters.transitions.Load(),
		Ejections:   s.counters.ejections.Load(),
		Failures:    make([]proxymetrics.Count, 0, len(reasons)),
		Checks:      make([]proxymetrics.Count, 0, len(checkResults)),
	}
	for i, reason := range reasons {
		out.Failures = append(out.Failures, proxymetrics.Count{Reason: reason, N: s.counters.failures[i].Load()})
	}
	for i, result := range checkResults {
		out.Checks = append(out.Checks, proxymetrics.Count{Reason: result, N: s.checking.counts[i].Load()})
	}
	return out
}
