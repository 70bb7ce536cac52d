package upstream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
)

// subsetted is a backend with checks that take forever, and subsets.
func subsetted(servers, subset, checks int, change ...func(*config.Backend)) plan.Backend {
	return backend("a", servers, append(change, func(c *config.Backend) {
		c.Check.Interval, c.Check.Subset = time.Hour, checks
		c.Balance.Subset = subset
	})...)
}

// A fleet of 100 processes with 1 000 servers: how many processes check each server. All would, without subsets.
func TestRosterOfFleet(t *testing.T) {
	const processes, servers = 100, 1000
	for _, test := range []struct{ subset, checks, each int }{{20, 0, 30}, {0, 50, 50}, {0, 200, 200}} {
		for _, down := range []int{0, 300} {
			is := map[int32]bool{}
			for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(servers)[:down] {
				is[int32(i)] = true
			}
			checks, most := make([]int, servers), 0
			for p := range processes {
				b := subsetted(servers, test.subset, test.checks)
				b.Settings.Balance.SubsetKey = fmt.Sprint("proxy-", p)
				up, all := 0, 0
				newRoster(&b).walk(func(i int32, first bool) bool {
					if first {
						checks[i]++
						if all++; !is[i] {
							up++
						}
					}
					return !is[i]
				})
				if most = max(most, all); up != test.each {
					t.Fatalf("%d servers that are up are checked, want %d", up, test.each)
				}
			}
			// Those that are down are checked as well; a process meets each server with the same probability.
			mean := float64(processes*test.each) / float64(servers-down)
			bound := 6 * max(2, mean/5)
			least, greatest := slices.Min(checks), slices.Max(checks)
			t.Logf("subset %d, check.subset %d, %d down: a server is checked by %d to %d processes, %.1f on average, "+
				"a process checks %d at most", test.subset, test.checks, down, least, greatest, mean, most)
			if float64(greatest) > mean+bound || float64(least) < mean-bound {
				t.Errorf("a server is checked by %d to %d processes, %.1f are expected", least, greatest, mean)
			}
		}
	}
}

// monitored is which servers are checked now.
func (r *running) monitored(b *Backend) (all []*Server) {
	r.on(func() {
		for _, s := range b.member.servers {
			if s.checking.monitor != nil {
				all = append(all, s)
			}
		}
	})
	return all
}

// used is which servers may get connections, and is not to change.
func used(b *Backend) (all []*Server) {
	g := b.Group()
	for i, s := range g.Servers {
		if g.InUse(i) {
			all = append(all, s)
		}
	}
	return all
}

func TestRosterFollowsStates(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, ring, 1)
		settings := func(subset, checks int) plan.Backend {
			return subsetted(60, subset, checks, func(c *config.Backend) { c.Balance.SubsetKey = "x" })
		}
		b := r.commit(settings(10, 0))["a"]
		before := r.monitored(b)
		if len(before) != 15 || len(used(b)) != 10 {
			t.Fatalf("%d servers are checked and %d are used, want 15 and 10", len(before), len(used(b)))
		}
		within := func(what string, want int) []*Server {
			t.Helper()
			all := r.monitored(b)
			for _, s := range used(b) {
				if !slices.Contains(all, s) {
					t.Errorf("%s: %v is used, and not checked", what, s.Address)
				}
			}
			if len(all) != want {
				t.Errorf("%s: %d servers are checked, want %d", what, len(all), want)
			}
			return all
		}
		within("at first", 15)
		say := func(state State, servers ...*Server) {
			r.on(func() {
				for _, s := range servers {
					s.report(signalCheck, state, "a test")
				}
			})
			r.on(b.publish)
		}
		down := slices.Clone(used(b))
		say(Down, down...)
		after := within("ten down", 25)
		for _, s := range down {
			if !slices.Contains(after, s) {
				t.Errorf("%v is down, and not checked any more", s.Address)
			}
		}
		say(Up, down...)
		if after := within("up again", 15); !slices.Equal(after, before) {
			t.Error("others are checked than before")
		}
		// A check of few in a backend that uses all.
		r.commit(settings(0, 5))
		all := r.monitored(b)
		if len(all) != 5 || len(used(b)) != 60 {
			t.Errorf("%d servers are checked and %d are used, want 5 and 60", len(all), len(used(b)))
		}
		// One that takes the place of another, and goes down as well, is not up because the other one is back.
		say(Down, all[0])
		more := r.monitored(b)
		other := more[slices.IndexFunc(more, func(s *Server) bool { return !slices.Contains(all, s) })]
		say(Down, other)
		say(Up, all[0])
		if now := r.monitored(b); len(now) != 6 || !slices.Contains(now, other) || other.State() != Down {
			t.Errorf("%d servers are checked, want 6, and %v is %v", len(now), other.Address, other.State())
		}
		say(Up, other)
		if now := r.monitored(b); !slices.Equal(now, all) {
			t.Errorf("%d servers are checked, want the same 5 as before", len(now))
		}
		r.commit(settings(0, 0))
		within("without a subset", 60)
		r.commit(settings(60, 0))
		within("with a subset that is all", 60)
		none := settings(10, 0)
		none.Servers = none.Servers[:0]
		r.commit(none)
		within("without servers", 0)
	})
}

// Connections to a server that is not used any more are still closed when it goes down.
func TestRosterKeepsWhatHasConnections(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	settings := func(servers int) plan.Backend {
		b := subsetted(60, 2, 0, func(c *config.Backend) { c.Balance.SubsetKey, c.Check.CloseOnDown = "x", true })
		b.Servers = b.Servers[:servers]
		return b
	}
	b := r.commit(settings(3))["a"]
	old := b.Group().Servers
	for _, s := range old {
		s.Load.Force()
	}
	r.commit(settings(60))
	all := r.monitored(b)
	for _, s := range old {
		if !slices.Contains(all, s) {
			t.Errorf("%v has a connection, and is not checked", s.Address)
		}
		s.Load.Give()
	}
	r.on(b.publish)
	if all := r.monitored(b); len(all) != 3 {
		t.Errorf("%d servers are checked without connections, want 3", len(all))
	}
}

// Each machine has its own subset, without a setting.
func TestSubsetKey(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	got := r.commit(subsetted(60, 10, 0))["a"].Group()
	want := balance.NewGroup(&config.Balance{Subset: 10, SubsetKey: hostname()}, got.made.servers)
	for i := range want.Len() {
		if want.InUse(i) != got.InUse(i) || hostname() == "" {
			t.Fatalf("server %d is in the subset of one only", i)
		}
	}
}

// Random states and plans: what is used and healthy is checked, what is down is checked, and no more than necessary.
func TestRosterModel(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	r := run(t, reactor.Epoll, 1)
	commit := func() *Backend {
		p := subsetted(5+rng.IntN(40), 1+rng.IntN(8), 0, func(c *config.Backend) { c.Balance.PanicThreshold = 0 })
		for i := range p.Servers {
			p.Servers[i].Priority = rng.IntN(2)
			p.Servers[i].State = []plan.State{plan.Up, plan.Up, plan.Up, plan.Drain, plan.Maintenance}[rng.IntN(5)]
			p.Servers[i].Weight = []int{1, 1, 0}[rng.IntN(3)]
		}
		return r.commit(p)["a"]
	}
	b := commit()
	for round := range 300 {
		if rng.IntN(5) == 0 {
			b = commit()
		}
		r.on(func() {
			all := b.member.servers
			for range rng.IntN(4) {
				s := all[rng.IntN(len(all))]
				if s.checking.monitor != nil { // only a check says something
					s.report(signalCheck, []State{Up, Down}[rng.IntN(2)], "a test")
				}
			}
			b.publish()
			b.publish() // what is not checked any more has come up
		})
		r.on(func() {
			most, up := checked(b.Settings()), map[int]int{}
			for i, s := range b.member.servers {
				p, is := &b.member.plan.Servers[i], s.checking.monitor != nil
				if is && s.State() == Up && p.Weight > 0 {
					up[p.Priority]++
				}
				if wanted := s.status.Load().states[signalCheck] == Down && p.State != plan.Maintenance; wanted && !is {
					t.Errorf("seed %d, round %d: %v is down, and not checked", seed, round, s.Address)
				}
			}
			for priority, n := range up {
				if n > most {
					t.Errorf("seed %d, round %d: %d of priority %d are checked, want %d", seed, round, n, priority, most)
				}
			}
		})
		for _, s := range used(b) {
			if s.checking.monitor == nil {
				t.Errorf("seed %d, round %d: %v is used, and not checked", seed, round, s.Address)
			}
		}
		if t.Failed() {
			return
		}
	}
}
