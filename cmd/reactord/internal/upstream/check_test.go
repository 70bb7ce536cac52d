package upstream

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// served is a real server that can be made to refuse, and to speak as an agent.
type served struct {
	t       *testing.T
	address netip.AddrPort
	ln      net.Listener
	says    atomic.Pointer[string]
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{t: t, address: netip.MustParseAddrPort("127.0.0.1:0")}
	s.up()
	t.Cleanup(s.down)
	return s
}

func (s *served) up() {
	ln, err := net.Listen("tcp", s.address.String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.ln, s.address = ln, ln.Addr().(*net.TCPAddr).AddrPort()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if says := s.says.Load(); says != nil {
				fmt.Fprintln(c, *says)
			}
			c.Close()
		}
	}()
}

func (s *served) down() { s.ln.Close() }

func (s *served) say(line string) { s.says.Store(&line) }

// checkedBackend is a backend of one server with fast checks.
func checkedBackend(s *served, change ...func(*config.Backend)) plan.Backend {
	b := backend("a", 1, append(change, func(c *config.Backend) {
		c.Check.Interval = 10 * time.Millisecond
		c.Check.CloseOnDown = true
	})...)
	b.Servers[0].Address = serveraddr.IP(s.address)
	b.Servers[0].Weight = 8
	return b
}

// Checks take a server out and back, and its connections are to be closed.
func TestChecks(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, backing := run(t, ring, 1), serve(t)
		b := r.commit(checkedBackend(backing))["a"]
		s := b.Group().Servers[0]
		eventually(t, "it was checked", func() bool { return s.Stats().Check != nil })
		if st := s.Stats(); st.State != stats.ServerUp || !st.Check.OK {
			t.Errorf("%+v", st)
		}
		backing.down()
		eventually(t, "it is down", func() bool { return s.State() == Down })
		r.expectDown(s)
		if st := s.Stats(); st.Reason == "" || st.Check.OK {
			t.Errorf("%+v", st)
		}
		eventually(t, "it is not healthy in the group", func() bool { return !b.Group().made.servers[0].Healthy })
		backing.up()
		eventually(t, "it is up", func() bool { return s.State() == Up })
		eventually(t, "it is healthy in the group", func() bool { return b.Group().made.servers[0].Healthy })
		_, stats := r.read()
		if c := stats[0].Checks; c[0].Count == 0 || c[1].Count < 3 || stats[0].Transitions != 2 {
			t.Errorf("%+v", stats[0])
		}
	})
}

// What is found out stays while the checks stay, and goes with them.
func TestChecksChange(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, backing := run(t, ring, 1), serve(t)
		backing.down()
		s := r.commit(checkedBackend(backing))["a"].Group().Servers[0]
		eventually(t, "it is down", func() bool { return s.State() == Down })
		r.expectDown(s)
		next := func(state plan.State) plan.Backend {
			b := checkedBackend(backing, func(c *config.Backend) { c.Check.Fall = 7 })
			b.Servers[0].State = state
			return b
		}
		if r.commit(next(plan.Up)); s.State() != Down {
			t.Error("other settings of the checks have made it up")
		}
		r.commit(next(plan.Maintenance))
		n := s.checking.counts[checkFailure].Load()
		// Several intervals: nothing tells that no check comes.
		if time.Sleep(50 * time.Millisecond); s.checking.counts[checkFailure].Load() != n || s.State() != Maintenance {
			t.Error("it is checked in maintenance")
		}
		r.commit(next(plan.Up))
		eventually(t, "it is down again", func() bool { return s.State() == Down })
		r.expectDown(s)
		none := backend("a", 0)
		none.Servers = next(plan.Up).Servers
		if r.commit(none); s.State() != Up {
			t.Errorf("it is %v without checks", s.State())
		}
	})
}

// A server has checks and an agent of its own: at another port, with another question, or none. A plan changes that.
func TestOwnChecks(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, backing, other, agent := run(t, ring, 1), serve(t), serve(t), serve(t)
		other.say("+PONG")
		agent.say("drain")
		p := func(check config.ServerCheck, own config.ServerAgent) plan.Backend {
			b := checkedBackend(backing, func(c *config.Backend) {
				c.Check.Initial, c.Check.Rise, c.Check.Fall = config.InitiallyDown, 1, 1
				c.Check.Expect = "+OK"
			})
			b.Servers[0].Check, b.Servers[0].Agent = &check, &own
			b.Servers = append(b.Servers, plan.Server{Name: "b", Address: serveraddr.IP(other.address), Weight: 1})
			slices.SortFunc(b.Servers, func(x, y plan.Server) int { return x.Address.Compare(y.Address) })
			return b
		}
		b := r.commit(p(config.ServerCheck{Disabled: true}, config.ServerAgent{}))["a"]
		var s *Server
		for _, one := range b.Group().Servers {
			if one.Address == serveraddr.IP(backing.address) {
				s = one
			}
		}
		if s == nil || s.State() != Up || s.isChecked() {
			t.Fatal("a server whose check is disabled is not up")
		}
		r.commit(p(config.ServerCheck{}, config.ServerAgent{}))
		eventually(t, "the backend's check counts", func() bool { return s.State() == Down })
		r.commit(p(config.ServerCheck{Port: int(other.address.Port()), Expect: "+PONG"}, config.ServerAgent{}))
		eventually(t, "its own check counts", func() bool { return s.State() == Up })
		monitor := s.checking.monitor
		r.commit(p(config.ServerCheck{Port: int(other.address.Port()), Expect: "+PONG"},
			config.ServerAgent{Port: int(agent.address.Port())}))
		eventually(t, "its own agent counts", func() bool { return s.State() == Drain })
		if s.checking.monitor != monitor {
			t.Error("a change of its agent has begun its checks anew")
		}
		r.commit(p(config.ServerCheck{Disabled: true}, config.ServerAgent{Disabled: true}))
		if s.State() != Up || s.checking.monitor != nil {
			t.Errorf("without checks it is %v", s.State())
		}
	})
}

// The agent sets the weight and the state.
func TestAgent(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, backing := run(t, ring, 1), serve(t)
		p := checkedBackend(backing, func(c *config.Backend) {
			c.Agent = config.Agent{Port: int(backing.address.Port()), Interval: 10 * time.Millisecond}
		})
		p.Servers = append(p.Servers, server(1))
		b := r.commit(p)["a"]
		s := b.Group().Servers[0]
		for _, test := range []struct {
			says    string
			state   State
			percent float64
			weight  int // in the group, beside 1; 0: it is not in it
		}{
			{"up ready 100%", Up, 100, 8},
			{"50%", Up, 50, 4},
			{"drain", Drain, 50, 0},
			{"maint", Maintenance, 50, 0},
			{"ready 25%", Up, 25, 2},
			{"down # tired", Down, 25, 2},
			{"up 0%", Up, 0, 0},
			{"200%", Up, 200, 16},
		} {
			backing.say(test.says)
			eventually(t, test.says, func() bool {
				st, g := s.Stats(), b.Group()
				in, weight := g.Servers[0] == s, 0
				if in {
					weight = g.made.servers[0].Weight
				}
				return st.State == stateNames[test.state] && st.WeightPercent == test.percent && weight == test.weight
			})
		}
	})
}
