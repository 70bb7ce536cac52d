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
}

// Stats reads the proxy's counters. Listeners that are retired have none.
func (p *Proxy) Stats() stats.All {
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
	for b, servers := range p.upstreams.All() {
		next := b.Stats(servers)
		cmp.Or(p.backends.find(b), &noBackend).read(&next)
		if b.Keys() == nil {
			next.Handshakes = nil
		}
		out.Backends = append(out.Backends, next)
		for _, s := range servers {
			out.Servers = append(out.Servers, s.Stats())
		}
	}
	for _, s := range p.table.Load().listeners {
		out.Listeners = append(out.Listeners, s.read())
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

func (s *sharedListener) read() stats.Listener {
	settings := s.settings.Load()
	out := s.stats.read(settings.Name)
	s.readTraffic(&out)
	out.Address, out.Network = s.place(), string(cmp.Or(s.key.Network, config.TCPNetwork))
	out.Backend, out.Routes = settings.Backend, len(settings.Routes)
	ends := settings.terminations
	if len(ends) == 0 {
		out.Handshakes = nil
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

func (l *listenerStats) read(name string) stats.Listener {
	out := stats.Listener{
		Name:             name,
		Connections:      l.current.Load(),
		Limit:            int(l.limit.Load()),
		Accepted:         l.accepted.Load(),
		Pauses:           l.pauses.Load(),
		PausedSeconds:    float64(l.paused.Load()) / 1e9,
		ThrottledSeconds: float64(l.throttled.Load()) / 1e9,
		RTT:              l.tcp.RTT(),
		Retransmits:      l.tcp.Retransmits(),
		Duration:         l.duration.Read(),
		FirstByte:        l.firstByte.Read(),
		Handshakes:       l.handshakes.read(),
	}
	for i, reason := range acceptReasons {
		out.AcceptErrors = append(out.AcceptErrors, stats.Count{Reason: reason, Count: l.acceptErrors[i].Load()})
	}
	for v, reason := range rejectionReasons {
		if reason != "" {
			out.Rejected = append(out.Rejected, stats.Count{Reason: reason, Count: l.rejected[v].Load()})
		}
	}
	for i, e := range closeReasons {
		out.Ended = append(out.Ended, stats.EndCount{By: e.By, Phase: e.Phase, Count: l.closed[i].Load()})
	}
	return out
}
