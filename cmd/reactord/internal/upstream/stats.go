package upstream

import "github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"

// Stats reads the counters of the backends in force, in the order of their names, and of their servers. It may be called
// from any goroutine.
func (d *Directory) Stats() (backends []proxymetrics.BackendStats, servers []proxymetrics.ServerStats) {
	for _, m := range d.members() {
		b := m.backend
		backends = append(backends, proxymetrics.BackendStats{Name: b.Name, ConnectTime: b.time.read()})
		for _, s := range m.servers {
			servers = append(servers, s.stats())
		}
	}
	return backends, servers
}

func (s *Server) stats() proxymetrics.ServerStats {
	out := proxymetrics.ServerStats{
		Backend:     s.Backend.Name,
		Name:        s.Name(),
		Connections: s.counters.connections.Load(),
		Current:     int64(s.Load.N()),
		Retries:     s.counters.retries.Load(),
	}
	for i, reason := range reasons {
		out.Failures = append(out.Failures, proxymetrics.Count{Reason: reason, N: s.counters.failures[i].Load()})
	}
	return out
}
