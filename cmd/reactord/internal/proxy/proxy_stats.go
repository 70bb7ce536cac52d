package proxy

import (
	"cmp"
	"errors"
	"sync/atomic"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// The reasons for which errors of accepting are counted.
var acceptReasons = [...]string{"emfile", "enfile", "enobufs", "enomem", "other"}

func acceptErrorIndex(err error) int {
	for i, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return i
		}
	}
	return len(acceptReasons) - 1
}

// listenerStats counts events of a listener, except its [traffic]. The loops share them: a connection touches each of
// them a few times at most. They continue while plans have the listener.
type listenerStats struct {
	_            [64]byte
	accepted     atomic.Uint64
	current      atomic.Int64
	pauses       atomic.Uint64
	acceptErrors [len(acceptReasons)]atomic.Uint64
	closed       [closeReasonCount]atomic.Uint64
	rejected     [verdictCount]atomic.Uint64
	duration     stats.Durations
	tcp          stats.TCPCounts // with clients
	firstByte    stats.Durations
	handshakes   handshakeStats // with clients
	limit        atomic.Int64
	paused       atomic.Int64 // ns, on all loops together, in pauses that have ended
	throttled    atomic.Int64 // ns, in which limits on bytes held directions back
	failing      atomic.Int32 // sockets that cannot be polled or received from
	logged       logEvery     // warnings about limits

	uncounted       atomic.Uint64 // connections for which a table of sources had no entry
	loggedUncounted logEvery
}

// totals are the distributions of all listeners and backends on one loop, also of those that are retired. No other loop
// writes to them.
type totals struct {
	duration, firstByte, connectTime, queueTime stats.Durations
	tcp                                         [2]stats.TCPCounts // with clients, with servers
}

func (p *Proxy) readTotals() *stats.Totals {
	all := stats.Totals{CheckTime: p.upstreams.CheckTime.Read()}
	for _, w := range p.workers {
		t := &w.totals
		all.Duration.Add(t.duration.Read())
		all.FirstByte.Add(t.firstByte.Read())
		all.ConnectTime.Add(t.connectTime.Read())
		all.QueueTime.Add(t.queueTime.Read())
		all.ClientRTT.Add(t.tcp[client].RTT())
		all.ServerRTT.Add(t.tcp[server].RTT())
	}
	return &all
}

// Stats reads the proxy's counters. Listeners that are retired have none.
func (p *Proxy) Stats() stats.All { return p.Read(stats.Wanted{Servers: true, Full: true}) }

// Read reads those of the counters that are wanted.
func (p *Proxy) Read(want stats.Wanted) stats.All {
	out := stats.All{
		Process: &stats.Process{
			Connections:      p.Open(),
			Limit:            int(p.limit.Load()),
			Draining:         p.DrainPhase() != NotDraining,
			IdleTimeoutRatio: float64(p.pressure.patience.Load()) / patienceFull,
			PressuredSeconds: float64(p.pressure.pressured.Load()) / 1e9,
			IncomingCPU:      p.incomingCPU.Load(),
		},
		AccessLog: &stats.AccessLog{
			Lines: p.logStats.Lines.Load(), Dropped: p.logStats.Dropped.Load(), Errors: p.logStats.Errors.Load(),
		},
		Loops: p.LoopStats(),
	}
	if !want.Full {
		out.Totals = p.readTotals()
	}
	backends, servers := p.upstreams.Count() // about as many as there are below
	out.Backends = make([]stats.Backend, 0, backends)
	if want.Servers {
		out.Servers = make([]stats.Server, 0, servers)
	}
	for b, servers := range p.upstreams.All() {
		next := b.Stats(servers, want.Full)
		shared := cmp.Or(p.backends.find(b), &noBackend)
		shared.read(&next, want.Full, p.now())
		if b.Keys() != nil {
			next.Handshakes = shared.handshakes.read(want.Full)
		}
		out.Backends = append(out.Backends, next)
		if want.Servers {
			for _, s := range servers {
				out.Servers = append(out.Servers, s.Read(want.Full))
			}
		}
	}
	listeners := p.table.Load().listeners
	out.Listeners = make([]stats.Listener, 0, len(listeners))
	for _, s := range listeners {
		out.Listeners = append(out.Listeners, s.read(want.Full))
	}
	if want.Failures {
		out.Failures = readRejections(p.readFailures(), out.Listeners)
	}
	return out
}

// LoopStats reads the counters of the loops, in the order of [Proxy.Loops]. It may be called from any goroutine.
func (p *Proxy) LoopStats() []stats.Loop {
	all := make([]stats.Loop, len(p.workers))
	for i, w := range p.workers {
		all[i] = stats.Loop{
			Name: w.loop.Name(), Connections: w.open.Load(), Accepted: w.accepted.Load(), Local: w.local.Load(),
		}
	}
	return all
}

func (s *sharedListener) read(full bool) stats.Listener {
	settings := s.settings.Load()
	out := s.stats.read(settings.Name, full)
	s.readTraffic(&out, full)
	if full {
		out.Address = s.place()
	}
	out.Network = string(cmp.Or(s.key.Network, config.TCPNetwork))
	out.Backend, out.Routes = settings.Backend, len(settings.Routes)
	ends := settings.terminations
	if len(ends) != 0 {
		out.Handshakes = s.stats.handshakes.read(full)
	}
	for _, of := range ends {
		first := len(out.Certificates)
		for _, e := range of.keys.Expiries() {
			out.Certificates = append(out.Certificates, stats.Certificate{
				Index: first + e.Index, Name: e.Name, Expires: e.At.UTC(),
			})
		}
	}
	for _, l := range s.loops {
		if since := l.pausedSince.Load(); since != 0 {
			out.PausedSeconds += float64(max(sinceStart()-since, 0)) / 1e9
		}
	}
	return out
}

// closeFaults has whose fault each end is.
var closeFaults = func() (all [closeReasonCount]string) {
	for i, e := range closeReasons {
		all[i] = stats.FaultOf(e.By, e.Phase)
	}
	return all
}()

func (l *listenerStats) read(name string, full bool) stats.Listener {
	out := stats.Listener{
		Name:             name,
		Connections:      l.current.Load(),
		Limit:            int(l.limit.Load()),
		Accepted:         l.accepted.Load(),
		Pauses:           l.pauses.Load(),
		Uncounted:        l.uncounted.Load(),
		PausedSeconds:    float64(l.paused.Load()) / 1e9,
		ThrottledSeconds: float64(l.throttled.Load()) / 1e9,
		Retransmits:      l.tcp.Retransmits(),
	}
	if full {
		out.Duration, out.FirstByte, out.RTT = l.duration.Read(), l.firstByte.Read(), l.tcp.RTT()
		out.Ended = make(stats.Tally[stats.EndCount], 0, len(closeReasons))
	}
	for i, reason := range acceptReasons {
		out.AcceptErrors.Add(stats.Count{Reason: reason, Count: l.acceptErrors[i].Load()}, full)
	}
	for v, reason := range rejectionReasons {
		if reason != "" {
			out.Rejected.Add(stats.Count{Reason: reason, Count: l.rejected[v].Load()}, full)
		}
	}
	for i, e := range closeReasons {
		out.Ended.Add(stats.EndCount{By: e.By, Phase: e.Phase, Fault: closeFaults[i], Count: l.closed[i].Load()}, full)
	}
	return out
}
