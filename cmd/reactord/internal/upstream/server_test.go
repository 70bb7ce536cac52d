package upstream

import (
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// Several loops count exactly, and too many failures in a row eject a server once.
func TestCountsAreExact(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const loops, each = 4, 10_000
		r := run(t, ring, loops)
		b := r.commit(backend("a", 4, func(c *config.Backend) {
			c.MaxConnections = 3
			c.Ejection.Time = time.Hour
		}))["a"]
		s := b.Group().Servers[0]
		most := make(chan int, loops)
		done := make(chan struct{}, loops)
		for _, l := range r.loops {
			go func() {
				onLoop(l, func() {
					n := 0
					for i := range each {
						b.Began(l.Now())
						s.Connected(0, int64(i))
						s.Failed(syscall.EADDRNOTAVAIL)
						s.Retried()
						if b.Load.Take() {
							n = max(n, b.Load.N())
							b.Load.Give()
						}
					}
					most <- n
				})
				onLoop(l, func() {
					for range each {
						s.Failed(syscall.ETIMEDOUT)
					}
				})
				done <- struct{}{}
			}()
		}
		for range loops {
			<-done
			if n := <-most; n > 3 {
				t.Errorf("%d connections, want 3 at most", n)
			}
		}
		r.on(func() {})
		backends, servers := r.read()
		got := servers[0]
		if backends[0].Total != loops*each || backends[0].Connections != 0 || got.Total != loops*each ||
			got.Retries != loops*each || got.Ejections != 1 || got.State != "ejected" || got.Transitions != 1 {
			t.Errorf("%+v of %+v", got, backends[0])
		}
		for _, f := range got.FailuresByReason {
			if want := map[string]uint64{"timeout": loops * each, "addrnotavail": loops * each}[f.Reason]; f.Count != want {
				t.Errorf("%d failures for %s, want %d", f.Count, f.Reason, want)
			}
		}
		if h := backends[0].ConnectTime; h.Cells[0] != loops*each {
			t.Errorf("%+v", h)
		}
	})
}

// What is wrong on this machine never tells against a server.
func TestLocalFailures(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	s := r.commit(backend("a", 3, func(c *config.Backend) { c.Ejection.Failures = 1 }))["a"].Group().Servers[0]
	for _, err := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EADDRINUSE,
	} {
		s.Failed(err)
	}
	if r.on(func() {}); s.State() != Up {
		t.Errorf("the server is %v", s.State())
	}
}

// A server that comes up gets little at first, and everything in the end. It does not when the process starts.
func TestSlowStart(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, ring, 1)
		const over = 200 * time.Millisecond
		slowly := func(servers int) plan.Backend {
			return backend("a", servers, func(c *config.Backend) { c.Balance.SlowStart = over })
		}
		b := r.commit(slowly(2))["a"]
		s := b.Group().Servers[0]
		if p := s.Stats().WeightPercent; p != 100 {
			t.Errorf("%v %% when the process starts", p)
		}
		var began time.Time
		r.on(func() {
			s.report(signalCheck, Down, "test")
			s.report(signalCheck, Up, "")
			if p := s.Stats().WeightPercent; p != 10 {
				t.Errorf("%v %% when it comes up", p)
			}
			began = time.Now()
		})
		groups, last := r.groups.Load(), 10.0
		eventually(t, "it has its weight", func() bool {
			p := s.Stats().WeightPercent
			if p < last {
				t.Errorf("%v %% after %v %%", p, last)
			}
			last = p
			return p == 100
		})
		if d := time.Since(began); d < over*9/10 {
			t.Errorf("it has its weight after %v, want %v", d, over)
		}
		if n := r.groups.Load() - groups; n > slowStartSteps+2 {
			t.Errorf("%d groups were made", n)
		}
		added := r.commit(slowly(3))["a"].Group()
		if w := added.made.servers; w[0].Weight <= w[2].Weight {
			t.Errorf("a server that was added: %+v", w)
		}
	})
}

func TestStats(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("b", 2, func(c *config.Backend) { c.MaxConnections = 50 })
	p.Servers[0].MaxConnections, p.Servers[0].Weight = 9, 3
	p.Servers[1].State = plan.Drain
	b := r.commit(p, backend("a", 0))["b"]
	s := b.Group().Servers[0]
	s.Load.Force()
	b.Load.Force()
	all, got := r.read()
	if len(all) != 2 || all[0].Name != "a" || all[1].Connections != 1 || all[1].MaxConnections != 50 ||
		all[1].Servers != 2 || all[1].Up != 1 || all[1].Policy != string(p.Settings.Balance.Policy) {
		t.Fatalf("%+v", all)
	}
	if g := got[0]; g.Name != "0" || g.State != stats.ServerUp || g.Reason != "" || g.Weight != 3 ||
		g.WeightPercent != 100 || g.Connections != 1 || g.MaxConnections != 9 || g.Origin != "test" ||
		time.Since(g.Since) > time.Minute || g.Address != p.Servers[0].Address.String() || g.AdminState != "up" {
		t.Errorf("%+v", g)
	}
	if g := got[1]; g.State != "drain" || g.AdminState != "drain" || g.Reason == "" {
		t.Errorf("%+v", g)
	}
	renamed := backend("b", 2)
	renamed.Servers[0].Name = "other"
	if r.commit(renamed); s.Name() != "other" || s.Load.Limit() != 0 || s.Load.N() != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

// Time in which a server is down counts while it lasts, and stays when it is up again.
func TestDowntime(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	s := r.commit(backend("a", 1))["a"].Group().Servers[0]
	r.on(func() { s.report(signalCheck, Down, "test") })
	eventually(t, "its downtime counts", func() bool { return s.Stats().Downtime >= 0.002 })
	r.on(func() { s.report(signalCheck, Up, "") })
	was := s.Stats().Downtime
	time.Sleep(5 * time.Millisecond)
	if now := s.Stats().Downtime; was < 0.002 || now != was {
		t.Errorf("%v s, and later %v s", was, now)
	}
	r.on(func() { s.report(signalPlan, Drain, "") })
	time.Sleep(2 * time.Millisecond)
	if now := s.Stats().Downtime; now != was {
		t.Errorf("%v s while it drains, want %v s", now, was)
	}
	var st status
	long := ServerHealth{Check: "down", Since: time.Now().Add(-time.Hour)}
	new(Server).inherit(&long, &config.Backend{Check: config.Check{Interval: time.Second}}, &st)
	if d := st.downtime(time.Now()); st.state() != Down || d > time.Minute || d < 0 {
		t.Errorf("%v is %v after a hand-over", d, st.state())
	}
}

// The same address in two backends is two servers.
func TestSameAddress(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	all := r.commit(backend("a", 2), backend("b", 2))
	a, b := all["a"].Group().Servers[0], all["b"].Group().Servers[0]
	r.on(func() { a.report(signalCheck, Down, "test") })
	if a.Address != b.Address || a.State() != Down || b.State() != Up {
		t.Errorf("%v is %v, %v is %v", a.Address, a.State(), b.Address, b.State())
	}
}
