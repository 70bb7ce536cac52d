package upstream

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
	logs "go.uber.org/zap/zaptest/observer"
)

// Whatever changes in a turn makes one group.
func TestOneGroupATurn(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, ring, 1)
		b := r.commit(backend("a", 100))["a"]
		before := r.groups.Load()
		r.on(func() {
			for _, s := range b.member.servers {
				s.report(signalCheck, Down, "test")
				s.report(signalCheck, Up, "")
				s.report(signalCheck, Down, "test")
			}
		})
		eventually(t, "a group was made", func() bool { return r.groups.Load() > before })
		r.on(func() {})
		if n := r.groups.Load() - before; n != 1 {
			t.Errorf("%d groups were made, want 1", n)
		}
	})
}

// If groups take long, fewer are made.
func TestSlowGroups(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	b := r.commit(backend("a", 3))["a"]
	r.on(func() {
		b.published, b.cost = b.now(), int64(time.Second)
		b.publishSoon()
		if wait := b.publisher.Deadline() - b.now(); wait != int64(9*time.Second) {
			t.Errorf("the next group is made after %v, want 9 s", time.Duration(wait))
		}
	})
	before := b.Group()
	if r.commit(backend("a", 4)); b.Group() == before {
		t.Error("a plan waits for it")
	}
}

func TestReduce(t *testing.T) {
	for range 1000 {
		var servers []balance.Server
		factor := 1 + rand.IntN(1000)
		want := []int{1 + rand.IntN(5), 1 + rand.IntN(5), 1}
		for _, w := range want {
			servers = append(servers, balance.Server{Weight: w * factor})
		}
		reduce(servers)
		for i, w := range want {
			if servers[i].Weight != w {
				t.Fatalf("weight %d of %v times %d", servers[i].Weight, want, factor)
			}
		}
	}
	reduce(nil)
}

// Servers that drain, are in maintenance or have no weight are not in the group, those that are down are.
func TestGroup(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 6)
	p.Servers[0].State = plan.Drain
	p.Servers[1].State = plan.Maintenance
	p.Servers[2].Weight = 0
	p.Servers[3].Backup, p.Servers[3].Locality, p.Servers[3].Priority = true, "here", 7
	b := r.commit(p)["a"]
	r.on(func() { b.member.servers[4].report(signalCheck, Down, "test") })
	eventually(t, "there is a group with a server that is down", func() bool { return !b.Group().made.servers[1].Healthy })
	g := b.Group().made.servers
	if len(g) != 3 || !g[0].Backup || g[0].Locality != "here" || g[0].Priority != 7 || !g[0].Healthy || !g[2].Healthy {
		t.Errorf("%+v", g)
	}
}

// Panic mode is logged and counted when it begins and when it ends, also if it is there from the beginning.
func TestPanicIsLogged(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	core, logged := logs.New(zap.InfoLevel)
	r.Log = zap.New(core)
	expect := func(what string, lines int) {
		t.Helper()
		eventually(t, what, func() bool { return logged.FilterMessageSnippet("panic mode").Len() == lines })
	}
	p := backend("a", 3, func(c *config.Backend) { c.Balance.PanicThreshold = 50 })
	servers := r.commit(p)["a"].member.servers
	say := func(state State) {
		r.on(func() {
			for _, s := range servers[1:] {
				s.report(signalCheck, state, "test")
			}
		})
	}
	say(Down)
	expect("it begins", 1)
	say(Up)
	expect("it ends", 2)
	say(Down)
	expect("it begins again", 3)
	p.Settings = backend("a", 3).Settings
	r.commit(p) // without a threshold
	expect("a plan ends it", 4)
	if backends, _ := r.read(); backends[0].Panics != 2 || backends[0].Panic {
		t.Errorf("%+v", backends[0])
	}
	fields := logged.FilterMessageSnippet("panic mode").All()[0].ContextMap()
	if fields["backend"] != "a" || fields["healthy"] != int64(1) || fields["servers"] != int64(3) {
		t.Errorf("%v", fields)
	}
}
