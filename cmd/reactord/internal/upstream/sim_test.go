package upstream

import (
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 0, "number of seeds to run the simulation with; 0: as many as the test wants")
	simFrom  = flag.Uint64("sim.from", 0, "first seed")
	simTrace = flag.Bool("sim.trace", false, "print each step")
)

// manySeeds is how many seeds a simulation is run with.
func manySeeds() uint64 {
	if *simSeeds != 0 {
		return *simSeeds
	}
	return testenv.Seeds(100)
}

// The states of servers under random events, beside a model, on a simulated kernel. This runs a failing seed again:
// go test -run TestSimulation -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulation(t *testing.T) {
	var trace io.Writer
	if *simTrace {
		trace = os.Stdout
	}
	var saw [stateCount]int
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		err := simring.Play(func(k *simring.Kernel) func() {
			s := &simulation{k: k, rng: k.Rand(), saw: &saw, servers: map[*Server]*model{}}
			s.start()
			return func() {}
		}, seed, simring.Flawless, trace)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for state, n := range saw {
		if seeds >= 100 && n < 20 {
			t.Errorf("%d servers were seen to be %v", n, State(state))
		}
	}
}

// simulation is a directory on a control loop, with another loop that tells of connects.
type simulation struct {
	k       *simring.Kernel
	rng     *rand.Rand
	saw     *[stateCount]int
	d       *Directory
	loops   [2]*reactor.Loop
	up      int
	table   map[string]*Backend
	servers map[*Server]*model // those of the plan
}

// model is what a server should be.
type model struct {
	backend  *Backend
	plan     plan.Server
	states   [signalCount]State
	inARow   int
	times    int
	backAt   int64
	cameUp   int64
	failures uint64
}

func (m *model) state() State { return max(m.states[0], m.states[1], m.states[2], m.states[3]) }

func (s *simulation) start() {
	for i := range s.loops {
		s.loops[i] = program.NewLoop(s.k)
	}
	s.d = New(Config{Loop: s.loops[0]})
	for _, l := range s.loops {
		s.k.Go("loop", func(*simring.Thread) {
			program.Ended(s.k, l, l.Run(func() { s.up++ }))
		})
	}
	s.k.Go("driver", s.drive)
}

// on runs f on a loop and waits for it.
func (s *simulation) on(t *simring.Thread, loop int, f func()) {
	c := &call{f: f, done: make(chan struct{})}
	c.Runner = c
	s.loops[loop].Enqueue(&c.Work)
	t.Until(func() bool {
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
}

func (s *simulation) drive(t *simring.Thread) {
	t.Until(func() bool { return s.up == len(s.loops) })
	s.commit(t)
	for range 40 {
		switch s.rng.IntN(6) {
		case 0:
			s.commit(t)
		case 1:
			s.report(t)
		case 2, 3:
			s.connects(t)
		case 4:
			t.Sleep(time.Duration(s.rng.Int64N(int64(3 * time.Second))))
		case 5:
			t.Sleep(time.Duration(s.rng.Int64N(int64(30 * time.Second))))
		}
		t.Sleep(10 * time.Millisecond) // groups are made in a later turn
		s.on(t, 0, s.check)
	}
	s.on(t, 0, func() {
		s.d.Stop()
		s.loops[0].Stop()
	})
	s.on(t, 1, s.loops[1].Stop)
}

// commit puts a random plan in force, or discards it.
func (s *simulation) commit(t *simring.Thread) {
	p := &plan.Plan{}
	for _, name := range []string{"a", "b"} {
		if s.rng.IntN(5) == 0 {
			continue
		}
		b := backend(name, 5, func(c *config.Backend) {
			c.Ejection = config.Ejection{Failures: s.rng.IntN(4), Time: time.Second, MaxTime: 3 * time.Second, MaxPercent: 40}
			c.Balance.SlowStart = time.Duration(s.rng.IntN(2)) * 5 * time.Second
		})
		kept := b.Servers[:0]
		for _, server := range b.Servers {
			server.Weight = s.rng.IntN(4)
			server.State = plan.State(max(0, s.rng.IntN(8)-5))
			if s.rng.IntN(5) != 0 {
				kept = append(kept, server)
			}
		}
		b.Servers = kept
		p.Backends = append(p.Backends, b)
	}
	c := s.d.Prepare(p)
	if s.rng.IntN(2) == 0 { // meanwhile
		t.Sleep(time.Duration(s.rng.Int64N(int64(3 * time.Second))))
		s.on(t, 0, s.follow)
		s.report(t)
		s.connects(t)
	}
	if s.rng.IntN(4) == 0 {
		c.Discard()
		return
	}
	var now int64
	s.on(t, 0, func() {
		c.Commit()
		now = s.loops[0].Now()
	})
	known := map[*Backend]bool{}
	for _, b := range s.table {
		known[b] = true
	}
	s.table = c.Backends()
	before := s.servers
	s.servers = map[*Server]*model{}
	for i := range p.Backends {
		b := s.table[p.Backends[i].Settings.Name]
		for j, server := range b.member.servers {
			m := before[server]
			if m == nil {
				m = &model{backend: b, cameUp: longAgo}
				if known[b] {
					m.cameUp = now
				}
			}
			s.servers[server] = m
			m.plan = p.Backends[i].Servers[j]
			s.say(m, signalPlan, [...]State{Up, Drain, Maintenance}[m.plan.State], now)
			if m.states[signalCheck] == Waiting { // there are no checks
				s.say(m, signalCheck, Up, now)
			}
			if b.Settings().Ejection.Failures == 0 {
				s.say(m, signalEjection, Up, now)
				m.inARow = 0
			}
			if b.slowStart() == 0 {
				m.cameUp = longAgo
			}
		}
	}
}

const longAgo = -int64(time.Hour)

func (s *simulation) say(m *model, v signal, state State, now int64) {
	before := m.state()
	m.states[v] = state
	over := m.backend.slowStart()
	whole := before == Waiting && now-m.cameUp >= over // it has waited with its whole weight
	if before != Up && m.state() == Up && over != 0 && !whole {
		m.cameUp = now
	}
}

// pick is a random server of the plan, in an order that the seed determines.
func (s *simulation) pick() (*Server, *model) {
	var all []*Server
	for b := range s.d.All() {
		m := b.member
		all = append(all, m.servers...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	server := all[s.rng.IntN(len(all))]
	return server, s.servers[server]
}

// report lets a check or an agent say something.
func (s *simulation) report(t *simring.Thread) {
	server, m := s.pick()
	if server == nil {
		return
	}
	v, state := signalCheck, []State{Up, Up, Down, Down, Waiting}[s.rng.IntN(5)]
	if s.rng.IntN(2) == 0 {
		v, state = signalAgent, []State{Up, Up, Down, Drain, Maintenance}[s.rng.IntN(5)]
	}
	s.on(t, 0, func() {
		server.report(v, state, "test")
		s.say(m, v, state, s.loops[0].Now())
	})
}

// connects lets the other loop tell of connects to a server.
func (s *simulation) connects(t *simring.Thread) {
	server, m := s.pick()
	if server == nil {
		return
	}
	for range s.rng.IntN(6) {
		fails := s.rng.IntN(8) != 0
		s.on(t, 1, func() {
			if !fails {
				server.Connected(0, 1)
				m.inARow = 0
				return
			}
			server.Failed(syscall.ECONNREFUSED)
			m.failures++
			m.inARow++
		})
		s.on(t, 0, func() {
			c := server.Backend.Settings().Ejection
			if fails && c.Failures != 0 && m.inARow >= c.Failures {
				m.inARow = 0
				s.eject(server, m, &c)
			}
		})
	}
}

// eject is what should happen after too many failures.
func (s *simulation) eject(server *Server, m *model, c *config.Ejection) {
	all, out := s.candidates(server.Backend)
	others := all - out
	if m.plan.Weight > 0 {
		others-- // itself
	}
	if m.state() != Up || others == 0 || out >= max(1, all*c.MaxPercent/100) {
		return
	}
	if s.k.Now()-m.backAt > int64(c.MaxTime) {
		m.times = 0
	}
	m.times++
	want := s.k.Now() + int64(min(time.Duration(m.times)*c.Time, c.MaxTime))
	m.backAt = server.ejection.backAt
	if d := want - m.backAt; d < 0 || d > int64(time.Second/2) {
		s.k.Errorf("a server is out for %v too short", time.Duration(d))
	}
	s.say(m, signalEjection, Ejected, 0)
}

// candidates counts the servers that could serve if none was ejected, and how many of them are.
func (s *simulation) candidates(b *Backend) (all, out int) {
	for server, m := range s.servers {
		if server.Backend == b && m.couldServe() {
			all++
			if m.states[signalEjection] == Ejected {
				out++
			}
		}
	}
	return all, out
}

func (m *model) couldServe() bool {
	return m.plan.Weight > 0 && max(m.states[signalPlan], m.states[signalCheck], m.states[signalAgent]) == Up
}

// follow lets servers back whose ejection has ended, or which are the only ones that could serve.
func (s *simulation) follow() {
	now := s.loops[0].Now()
	for _, b := range s.table {
		if all, out := s.candidates(b); out < all {
			continue
		}
		for server, m := range s.servers {
			if server.Backend == b && m.states[signalEjection] == Ejected && m.couldServe() {
				m.inARow, m.backAt = 0, min(m.backAt, now)
				s.say(m, signalEjection, Up, now)
			}
		}
	}
	for _, m := range s.servers {
		if m.states[signalEjection] == Ejected && s.loops[0].Now() > m.backAt {
			m.inARow = 0
			s.say(m, signalEjection, Up, m.backAt)
		}
	}
}

// check compares everything with the model.
func (s *simulation) check() {
	s.follow()
	now := s.loops[0].Now()
	for server, m := range s.servers {
		s.saw[m.state()]++
		st := server.Stats()
		if st.State != stateNames[m.state()] || st.Failures != m.failures {
			s.k.Errorf("server %v: %v, %d failures; want %v, %d", server.Address, st.State, st.Failures, m.state(), m.failures)
		}
		s.checkWeight(server, m, now)
	}
	for name, b := range s.table {
		s.checkGroup(name, b)
	}
}

func (s *simulation) checkWeight(server *Server, m *model, now int64) {
	most, over := 1.0, int64(server.Backend.Settings().Balance.SlowStart)
	if since := now - m.cameUp; since < over {
		most = 0.1 + 0.9*float64(since)/float64(over)
	}
	got := float64(server.status.Load().permille) / 1000
	if m.state() == Up && (got > most || got < max(most-0.12, 0.1)) {
		s.k.Errorf("server %v has %v of its weight, want %v, or a step less", server.Address, got, most)
	}
}

func (s *simulation) checkGroup(name string, b *Backend) {
	g := b.Group()
	if len(g.Servers) != len(g.made.servers) || g.Len() != len(g.Servers) {
		s.k.Errorf("backend %s: a group of %d, %d and %d", name, len(g.Servers), len(g.made.servers), g.Len())
	}
	if again := newGroup(b.member, g); again != g {
		s.k.Errorf("backend %s: the group is not that of its servers: %v, want %v", name, g.made, again.made)
	}
	in := map[*Server]bool{}
	for i, server := range g.Servers {
		in[server] = true
		if m := s.servers[server]; m == nil || g.made.servers[i].Healthy != (m.state() == Up) {
			s.k.Errorf("backend %s: server %v is in the group as %+v", name, server.Address, g.made.servers[i])
		}
	}
	for server, m := range s.servers {
		if server.Backend == b && in[server] != (m.state() <= Down && m.plan.Weight != 0) {
			s.k.Errorf("backend %s: server %v is in the group: %v, it is %v", name, server.Address, in[server], m.state())
		}
	}
}
