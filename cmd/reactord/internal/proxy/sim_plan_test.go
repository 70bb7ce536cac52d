package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Plans change while connections are made and bytes flow: listeners and servers come and go, and their limits change.
// Some plans fail to be prepared, and some are discarded.
func TestSimulationOfPlans(t *testing.T) {
	t.Parallel()
	var saw struct{ ends, refused, committed, discarded, failed int }
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *planSimulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulatePlans(k)
			return s.check
		}, seed, simring.Flaw(*simFlaw), traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, p := range s.talk.Parties() {
			if p.SawEnd {
				saw.ends++
			}
			if p.Refused {
				saw.refused++
			}
		}
		saw.committed += s.committed
		saw.discarded += s.discarded
		saw.failed += s.failed
	}
	t.Logf("%+v", saw)
	if seeds >= 100 && (saw.ends < 100 || saw.committed < 100 || saw.discarded < 10 || saw.failed < 10) {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// planSimulation is a simulation with a thread that makes plans.
type planSimulation struct {
	simulation
	servers                      [3]Server // that plans choose from
	planning                     bool
	listeners                    map[*sharedListener]bool // that there ever were
	sources                      map[*limit.Sources]bool  // likewise
	committed, discarded, failed int
}

func simulatePlans(k *simring.Kernel) *planSimulation {
	rng := k.Rand()
	s := &planSimulation{planning: true, listeners: map[*sharedListener]bool{}, sources: map[*limit.Sources]bool{}}
	s.simulation = simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(8), hurry: rng.IntN(4) == 0}
	for i := range s.servers {
		server := drawServer(k, i)
		s.servers[i] = server
		if rng.IntN(4) != 0 {
			k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, server) })
		}
	}
	loops := make([]*reactor.Loop, 1+rng.IntN(3))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	k.Go("start", func(*simring.Thread) { s.start(tight(k), s.backend(), loops) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.clientOfAny)
	}
	k.Go("planner", s.plan)
	after := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(func() bool { return s.hurry || !s.planning })
		s.stop(t, after)
	})
	return s
}

// backend is one with one to three servers.
func (s *planSimulation) backend() Backend {
	rng := s.k.Rand()
	b := Backend{Name: "b", Buffer: 1 << rng.IntN(14), HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour}
	for i, server := range s.servers {
		if rng.IntN(2) == 0 || i == 2 && len(b.Servers) == 0 {
			b.Servers = append(b.Servers, server)
		}
	}
	return b
}

// next is a plan with up to three listeners.
func (s *planSimulation) next() fixture {
	rng := s.k.Rand()
	f := fixture{Backends: []Backend{s.backend()}}
	if rng.IntN(3) == 0 {
		f.Limits.MaxConnections = 1 + rng.IntN(6)
	}
	if rng.IntN(2) == 0 {
		f.Limits.SourceConnections = s.drawSourceConnections()
	}
	for i := range 3 {
		if rng.IntN(3) == 0 {
			continue
		}
		l := simulatedListener(i, rng.IntN(5))
		if l.MaxConnections != 0 && rng.IntN(3) == 0 {
			l.OnLimit = "reject"
		}
		if rng.IntN(2) == 0 {
			counts := s.drawSourceConnections()
			l.Set = func(l *plan.Listener) { l.SourceConnections = counts }
		}
		f.Listeners = append(f.Listeners, l)
	}
	return f
}

// drawSourceConnections draws limits that count several prefixes.
func (s *planSimulation) drawSourceConnections() config.SourceConnections {
	rng := s.k.Rand()
	return config.SourceConnections{Max: 1 + rng.IntN(5), IPv4Prefix: 8 << rng.IntN(3), IPv6Prefix: 64, Sources: 16}
}

// plan makes plans, one after another.
func (s *planSimulation) plan(t *simring.Thread) {
	defer func() { s.planning = false }()
	rng := s.k.Rand()
	t.Until(s.isUp)
	s.note()
	for range 1 + rng.IntN(8) {
		t.Sleep(time.Duration(rng.Int64N(int64(5 * time.Millisecond))))
		c, err := s.proxy.prepareChange(s.next().plan())
		switch {
		case errors.Is(err, ErrStopped):
			return
		case err != nil:
			s.failed++
		case rng.IntN(5) == 0:
			t.Sleep(time.Duration(rng.Int64N(int64(time.Millisecond))))
			c.Discard()
			s.discarded++
		default:
			c.commit()
			t.Until(func() bool { return c.pending.Load() == 0 })
			s.committed++
		}
		s.note()
	}
}

func (s *planSimulation) note() {
	for _, l := range s.proxy.table.Load().listeners {
		s.listeners[l] = true
	}
	for _, table := range s.proxy.sourceTables() {
		s.sources[table] = true
	}
}

// clientOfAny is a client of an address on which a listener may be.
func (s *planSimulation) clientOfAny(t *simring.Thread) {
	defer func() { s.clients-- }()
	t.Until(s.isUp)
	t.Sleep(time.Duration(s.k.Rand().Int64N(int64(20 * time.Millisecond))))
	p := s.talk.Join()
	fd, err := t.Dial(simulatedListener(s.k.Rand().IntN(3), 0).Address)
	if err != nil {
		p.Refused = true
		return
	}
	p.Run(t, fd)
}

// check asserts that nothing is left of any listener. Resets are allowed: of connections that a listener which was
// closed had not accepted yet.
func (s *planSimulation) check() {
	s.hurry = true
	s.simulation.check()
	for l := range s.listeners {
		if n := l.admission.Connections(); n != 0 {
			s.k.Errorf("%d connections of a listener are admitted", n)
		}
		if n := l.stats.current.Load(); n != 0 {
			s.k.Errorf("%d connections of a listener are counted", n)
		}
	}
	for table := range s.sources {
		if n := table.Connections(netip.MustParseAddr("127.0.0.1")); n != 0 {
			s.k.Errorf("%d connections of a source are counted", n)
		}
	}
}
