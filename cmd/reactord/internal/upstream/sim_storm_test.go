package upstream

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Everything at the same time on a simulated kernel with faults: servers go down and up, checks find out, plans come,
// another loop tells of connects. When that has ended, all is well again, and nothing is left. This runs a failing seed
// again: go test -run TestStorm -sim.from SEED -sim.seeds 1 -sim.trace
func TestStorm(t *testing.T) {
	var trace io.Writer
	if *simTrace {
		trace = os.Stdout
	}
	var saw [stateCount]uint64
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *storm
		err := simring.Play(func(k *simring.Kernel) func() {
			s = &storm{k: k, rng: k.Rand(), saw: &saw}
			s.begin(seed)
			return s.check
		}, seed, simring.Flawless, trace)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if seeds >= 100 && (saw[Up] == 0 || saw[Down] == 0 || saw[Ejected] == 0) {
		t.Errorf("too little happened: %v", saw)
	}
}

const stormServers = 3

type storm struct {
	k     *simring.Kernel
	rng   *rand.Rand
	saw   *[stateCount]uint64
	d     *Directory
	loops [2]*reactor.Loop
	up    int // loops
	calm  bool
	over  bool
	ended bool
	user  stormUser
}

func (s *storm) begin(seed uint64) {
	for i := range s.loops {
		s.loops[i] = program.NewLoop(s.k)
	}
	s.d = New(Config{Loop: s.loops[0], Seed: seed + 1})
	s.user = stormUser{s: s}
	s.user.timer.Init(&s.user)
	for i, l := range s.loops {
		s.k.Go(fmt.Sprintf("loop%d", i), func(*simring.Thread) {
			program.Ended(s.k, l, l.Run(func() { s.up++ }))
		})
	}
	for i := range stormServers {
		s.k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, stormAddress(i)) })
	}
	s.k.Go("planner", s.plan)
}

func stormAddress(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(9000+i))
}

// serve accepts connections for some time, and then it does not.
func (s *storm) serve(t *simring.Thread, address netip.AddrPort) {
	for !s.over {
		ln := t.Listen(address)
		until := s.k.Now() + s.rng.Int64N(int64(20*time.Second))
		for {
			fd := t.Accept(ln, func() bool { return s.over || !s.calm && s.k.Now() > until })
			if fd < 0 {
				break
			}
			_ = s.k.System().Close(fd)
		}
		_ = s.k.System().Close(ln)
		if !s.over && !s.calm {
			t.Sleep(time.Duration(s.rng.Int64N(int64(10 * time.Second))))
		}
	}
}

func (s *storm) random() *plan.Plan {
	b := backend("a", stormServers, func(c *config.Backend) {
		c.Ejection = config.Ejection{Failures: s.rng.IntN(4), Time: time.Second, MaxTime: 3 * time.Second, MaxPercent: 50}
		c.Balance.SlowStart = time.Duration(s.rng.IntN(2)) * 5 * time.Second
		c.Check.Interval = time.Duration(s.rng.IntN(3)) * time.Second
		c.Check.Timeout = 500 * time.Millisecond
	})
	kept := b.Servers[:0]
	for i, server := range b.Servers {
		server.Address = serveraddr.IP(stormAddress(i))
		server.State = plan.State(max(0, s.rng.IntN(8)-5))
		if s.rng.IntN(5) != 0 {
			kept = append(kept, server)
		}
	}
	b.Servers = kept
	return &plan.Plan{Backends: []plan.Backend{b}}
}

// plan commits plans, without waiting until they are in force.
func (s *storm) plan(t *simring.Thread) {
	t.Until(func() bool { return s.up == len(s.loops) })
	for range 20 {
		if c := s.d.Prepare(s.random()); s.rng.IntN(4) == 0 {
			c.Discard()
		} else {
			s.post(0, func() {
				c.Commit()
				s.user.backend = c.Backends()["a"] // the simulation runs one thread at a time
			})
			s.post(1, s.user.begin)
		}
		t.Sleep(time.Duration(s.rng.Int64N(int64(4 * time.Second))))
	}
	s.calm = true
	s.k.Odds.RefusedConnect, s.k.Odds.SlowEvent = 0, 0 // checks that fail now would be right
	last := s.random()
	last.Backends[0].Settings.Check.Interval = time.Second
	for i := range last.Backends[0].Servers {
		last.Backends[0].Servers[i].State = plan.Up
	}
	s.post(0, s.d.Prepare(last).Commit)
	t.Sleep(time.Minute)
	s.post(0, func() {
		s.settled()
		s.d.Stop()
		s.loops[0].Stop()
		s.over = true
	})
	s.post(1, s.loops[1].Stop)
}

// post runs f on a loop, some time.
func (s *storm) post(loop int, f func()) {
	c := &call{f: f, done: make(chan struct{})}
	c.Runner = c
	s.loops[loop].Enqueue(&c.Work)
}

// settled asserts that all is well.
func (s *storm) settled() {
	s.ended = true
	for b := range s.d.All() {
		m := b.member
		g := m.backend.Group()
		if len(g.Servers) != len(m.servers) || newGroup(m, g) != g {
			s.k.Errorf("%d of %d servers are in the group: %+v", len(g.Servers), len(m.servers), g.made)
		}
		for _, server := range m.servers {
			if st := server.Stats(); st.State != stats.ServerUp || st.WeightPercent != 100 {
				s.k.Errorf("server %v is %v with %v %% of its weight: %s", st.Address, st.State, st.WeightPercent, st.Reason)
			}
		}
	}
}

func (s *storm) check() {
	if !s.ended {
		s.k.Errorf("the end was not reached")
	}
}

// stormUser is what the other loop has.
type stormUser struct {
	s       *storm
	backend *Backend
	picker  balance.Picker
	timer   reactor.Timer
}

func (u *stormUser) begin() { u.OnTimer(0) }

// OnTimer makes a few connections, until it is calm.
func (u *stormUser) OnTimer(int64) {
	l := u.s.loops[1]
	if u.s.calm || u.backend == nil {
		return
	}
	for range u.s.rng.IntN(4) {
		u.backend.Began(l.Now())
		g := u.backend.Group()
		i, err := u.picker.Pick(g.Group, &balance.Request{})
		if err != nil {
			continue
		}
		server := g.Servers[i]
		u.s.saw[server.State()]++
		if u.s.rng.IntN(3) != 0 {
			server.Failed(syscall.ECONNREFUSED)
		} else {
			server.Connected(l.Now(), l.Now())
		}
		server.Load.Give()
	}
	for b := range u.s.d.All() {
		m := b.member
		for _, server := range m.servers {
			u.s.saw[server.State()]++
		}
	}
	l.SetTimer(&u.timer, l.Now()+u.s.rng.Int64N(int64(200*time.Millisecond)))
}
