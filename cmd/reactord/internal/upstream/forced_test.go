package upstream

import (
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/reactor"
)

// force returns a backend whose servers have a forced health.
func force(b plan.Backend, health ...plan.Health) plan.Backend {
	servers := append([]plan.Server(nil), b.Servers...)
	for i, h := range health {
		if servers[i].Health = h; h != plan.HealthAuto {
			servers[i].HealthReason = "forced " + h.String() + " by ann"
		}
	}
	b.Servers = servers
	return b
}

const (
	auto = plan.HealthAuto
	up   = plan.HealthUp
	down = plan.HealthDown
)

// inUse returns the addresses of the servers that may be chosen.
func inUse(b *Backend) (names string) {
	g := b.Group()
	for i, s := range g.Servers {
		if g.InUse(i) {
			names += s.Name()
		}
	}
	return names
}

// A forced health hides what the check, the agent and ejection say, and they are as they were when it ends.
func TestForcedHealth(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 3, lasting)
	b := r.commit(p)["a"]
	servers := b.Group().Servers
	s := servers[0]
	for _, test := range []struct {
		name   string
		report func()
		forced plan.Health
		want   State
		reason string
		use    string
	}{
		{"auto", func() {}, auto, Up, "", "012"},
		{"down", func() {}, down, Down, "forced down by ann", "12"},
		{"check", func() { s.report(signalCheck, Down, "no answer") }, auto, Down, "no answer", "12"},
		{"check, up", func() {}, up, Up, "forced up by ann: no answer", "012"},
		{"check, down", func() {}, down, Down, "forced down by ann", "12"},
		{"agent down, up", func() {
			s.report(signalCheck, Up, "")
			s.reportAgent(Down, "agent", 100)
		}, up, Up, "forced up by ann: agent", "012"},
		{"agent drain, up", func() { s.reportAgent(Drain, "agent", 100) }, up, Drain, "agent", "12"},
		{"agent drain, down", func() {}, down, Drain, "agent", "12"},
		{"ejected", func() {
			s.reportAgent(Up, "", 100)
			s.report(signalEjection, Ejected, "failed")
		}, auto, Ejected, "failed", "12"},
		{"ejected, up", func() {}, up, Up, "forced up by ann: failed", "012"},
		{"ejected, down", func() {}, down, Down, "forced down by ann", "12"},
		{"ejected, again", func() {}, auto, Ejected, "failed", "12"},
	} {
		r.on(test.report)
		r.commit(force(p, test.forced))
		r.on(b.publish)
		if st := s.status.Load(); st.state() != test.want || st.reason() != test.reason || inUse(b) != test.use {
			t.Errorf("%s: %v (%s), in use %s; want %v (%s), %s", test.name, st.state(), st.reason(), inUse(b), test.want,
				test.reason, test.use)
		}
	}
}

// A server that is forced up is not ejected, and counts as one that serves instead of others.
func TestForcedHealthAndEjection(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 2, lasting)
	b := r.commit(force(p, up))["a"]
	servers := b.Group().Servers
	r.fail(servers[0])
	if s := servers[0]; s.State() != Up || s.Stats().Ejections != 0 {
		t.Errorf("forced up, and %v", s.State())
	}
	r.fail(servers[1]) // the first one serves instead
	if servers[1].State() != Ejected {
		t.Errorf("the other one is %v", servers[1].State())
	}
	r.commit(force(p, down)) // now the other one is the last that could serve
	if servers[1].State() != Up || inUse(b) != "1" {
		t.Errorf("the last one is %v; in use: %s", servers[1].State(), inUse(b))
	}
	r.fail(servers[1])
	if servers[1].State() != Up {
		t.Errorf("the last one was ejected")
	}
}

// Neither panic nor the lack of any other server makes use of one that is forced down. It counts as down: a backup
// replaces it.
func TestForcedDownIsNeverUsed(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 3, func(c *config.Backend) { c.Balance.PanicThreshold = 100 })
	b := r.commit(p)["a"]
	servers := b.Group().Servers
	r.on(func() { servers[1].report(signalCheck, Down, "") })
	r.commit(force(p, down))
	if !b.Group().Panic() || inUse(b) != "12" {
		t.Errorf("panic %v, in use %s", b.Group().Panic(), inUse(b))
	}
	r.commit(force(p, down, down, down))
	if inUse(b) != "" || b.Group().HasUntried(&balance.Set{}) {
		t.Errorf("all are forced down, in use %s", inUse(b))
	}
	p.Servers[2].Backup = true
	r.on(func() { servers[1].report(signalCheck, Up, "") })
	b = r.commit(force(p, down, down))["a"]
	if inUse(b) != "2" {
		t.Errorf("in use: %s, want the backup", inUse(b))
	}
}

// A backend that holds connections, and of whose servers none is checked, uses all but those that are forced down.
func TestForcedDownAndHold(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 2, func(c *config.Backend) { c.Hold = time.Minute })
	b := r.commit(force(p, down))["a"]
	servers := b.Group().Servers
	r.on(func() {
		servers[1].report(signalCheck, Down, "")
		b.publish()
		b.uncheck()
	})
	if inUse(b) != "1" {
		t.Errorf("in use: %s", inUse(b))
	}
}

// A server that is forced up starts slowly, as any that comes up.
func TestForcedUpStartsSlowly(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 2, func(c *config.Backend) { c.Balance.SlowStart = time.Hour })
	s := r.commit(p)["a"].Group().Servers[0]
	r.on(func() { s.report(signalCheck, Down, "") })
	r.commit(force(p, up))
	if got := s.Stats(); got.State != "up" || got.WeightPercent > 11 {
		t.Errorf("%s with %v %% of its weight", got.State, got.WeightPercent)
	}
}

// The connections of a server are closed when it becomes down, by its check or by force, and not while it is forced up.
func TestForcedHealthAndCloseOnDown(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	p := backend("a", 2, checksBy(time.Hour), func(c *config.Backend) { c.Check.CloseOnDown = true })
	s := r.commit(p)["a"].Group().Servers[0]
	r.commit(force(p, down))
	r.expectDown(s)
	r.commit(force(p, up))
	r.on(func() { s.report(signalCheck, Down, "") })
	if s.ClosesConnections() || len(r.down) != 0 {
		t.Error("its connections are closed while it is forced up")
	}
	r.commit(p)
	r.expectDown(s)
	if s.State() != Down {
		t.Errorf("it is %v", s.State())
	}
}
