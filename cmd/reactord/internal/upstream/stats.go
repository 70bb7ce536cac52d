package upstream

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// All iterates over the backends in force, sorted by name, each with its servers. It may be called from any
// goroutine.
func (d *Directory) All() iter.Seq2[*Backend, []*Server] {
	inForce := *d.inForce.Load()
	return func(yield func(*Backend, []*Server) bool) {
		for _, name := range slices.Sorted(maps.Keys(inForce)) {
			if m := inForce[name]; !yield(m.backend, m.servers) {
				return
			}
		}
	}
}

// Count returns the number of backends in force, and of their servers. It may be called from any goroutine.
func (d *Directory) Count() (backends, servers int) {
	inForce := *d.inForce.Load()
	for _, m := range inForce {
		servers += len(m.servers)
	}
	return len(inForce), servers
}

// Servers returns the servers of a backend in force, sorted by address; none if it has left the plan. It may be called
// from any goroutine.
func (d *Directory) Servers(b *Backend) []*Server {
	if m := (*d.inForce.Load())[b.Name]; m != nil && m.backend == b {
		return m.servers
	}
	return nil
}

// Stats reads the counters of the backend, whose servers come from [Directory.All], with its durations if it is full.
// It may be called from any goroutine.
func (b *Backend) Stats(servers []*Server, full bool) stats.Backend {
	settings := b.Settings()
	out := stats.Backend{
		Name:           b.Name,
		Policy:         string(settings.Balance.Policy),
		Servers:        len(servers),
		Panic:          b.Group().Panic(),
		Panics:         b.panics.Load(),
		Connections:    b.Load.N(),
		MaxConnections: b.Load.Limit(),
		QueueSize:      settings.Queue.Size,
		Hold:           stats.Of(settings.Hold),
		Paused:         b.Paused(),
		PauseLeft:      stats.Of(b.pauseLeft()),
		Total:          b.began.Load(),
		RetriesRefused: b.retries.refused.Load(),
	}
	if full {
		out.ConnectTime, out.CheckTime = b.time.Read(), b.checkTime.Read()
	}
	var states [stateCount]uint64
	for _, s := range servers {
		states[s.State()]++
	}
	out.Up = int(states[Up])
	out.States = make(stats.Tally[stats.Count], 0, len(states))
	for state, n := range states {
		out.States = append(out.States, stats.Count{Reason: string(stateNames[state]), Count: n})
	}
	return out
}

// Stats reads the counters of the server. It may be called from any goroutine.
func (s *Server) Stats() stats.Server { return s.Read(true) }

// Read is Stats that leaves out counts of 0 and the address unless it is full: see [stats.Wanted].
func (s *Server) Read(full bool) stats.Server {
	p, st := s.plan.Load(), s.status.Load()
	out := stats.Server{
		Backend:         s.Backend.Name,
		Name:            p.Name,
		State:           stateNames[st.state()],
		Reason:          st.reason(),
		Since:           st.since.UTC(),
		AdminState:      p.State.String(),
		Weight:          p.Weight,
		WeightPercent:   float64(st.weight(100)) / 1000,
		Priority:        p.Priority,
		Backup:          p.Backup,
		Locality:        p.Locality,
		Connections:     s.Load.N(),
		MaxConnections:  s.Load.Limit(),
		ServerCounts:    stats.ReadServerCounts(&s.counters.ServerCounts),
		Downtime:        stats.Of(st.downtime(time.Now())),
		Check:           s.checking.last.Load(),
		Retransmits:     s.TCP.Retransmits(),
		Health:          st.forced.health.String(),
		OwnChecks:       p.OwnChecks(),
		Origin:          p.Origin,
		States:          stateNames[:],
		EffectiveWeight: float64(st.weight(p.Weight)) / 1000,
	}
	if full {
		out.Address, out.RTT = s.Address.String(), s.TCP.RTT()
		out.FailuresByReason = make(stats.Tally[stats.Count], 0, len(reasons))
		out.Checks = make(stats.Tally[stats.Count], 0, len(checkResults))
	}
	for i, reason := range reasons {
		n := s.counters.failures[i].Load()
		out.Failures += n
		out.FailuresByReason.Add(stats.Count{Reason: reason, Count: n}, full)
	}
	for i, result := range checkResults {
		out.Checks.Add(stats.Count{Reason: result, Count: s.checking.counts[i].Load()}, full)
	}
	return out
}
