package upstream

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/health"
	"github.com/reactord/reactord/reactor"
)

// initially is the state of servers before their first check.
func initially(state config.InitialState) func(*config.Backend) {
	return func(c *config.Backend) { c.Check.Initial = state }
}

// waitingBackend is a backend with a server for each that is given, checked once an hour.
func waitingBackend(servers ...*served) plan.Backend {
	p := backend("a", len(servers), checksBy(time.Hour), initially("wait"))
	for i, s := range servers {
		p.Servers[i].Address = serveraddr.IP(s.address)
	}
	return p
}

// pick chooses a server, and gives it back.
func pick(b *Backend) (*Server, error) {
	var p balance.Picker
	g := b.Group()
	i, err := p.Pick(g.Group, &balance.Request{})
	if err != nil {
		return nil, err
	}
	g.Servers[i].Load.Give()
	return g.Servers[i], nil
}

// A server has connections only after its first check has passed, which is made immediately: when the process starts,
// when it is added, and after maintenance.
func TestFirstCheckIsAwaited(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, good, bad, late := run(t, ring, 1), serve(t), serve(t), serve(t)
		bad.down()
		p := waitingBackend(good, bad)
		c := r.Prepare(&plan.Plan{Backends: []plan.Backend{p}})
		b := c.Backends()["a"]
		if _, err := pick(b); !errors.Is(err, balance.ErrFull) {
			t.Errorf("a connection before the first check: %v, want to wait", err)
		}
		r.on(func() {
			c.Commit()
			if n := r.Waiting(); n != 2 {
				t.Errorf("%d servers wait, want 2", n)
			}
		})
		eventually(t, "both were checked", func() bool { return r.Waiting() == 0 })
		s := b.member.servers
		if s[0].State() != Up || s[1].State() != Down {
			t.Errorf("they are %v and %v", s[0].State(), s[1].State())
		}
		if n := s[1].counters.Transitions.Load(); n != 1 {
			t.Errorf("the bad one has changed its state %d times, want once", n)
		}
		next := waitingBackend(good, bad, late)
		c = r.Prepare(&plan.Plan{Backends: []plan.Backend{next}})
		r.on(func() {
			c.Commit()
			if got, err := pick(b); b.member.servers[2].State() != Waiting || err != nil || got != s[0] {
				t.Errorf("beside one that is up: %v, %v", got, err)
			}
		})
		added := b.member.servers[2]
		eventually(t, "the new one is up", func() bool { return added.State() == Up })
		maintained := waitingBackend(good, bad, late)
		maintained.Servers[2].State = plan.Maintenance
		r.commit(maintained)
		late.down()
		c = r.Prepare(&plan.Plan{Backends: []plan.Backend{waitingBackend(good, bad, late)}})
		r.on(func() {
			if c.Commit(); added.State() != Waiting {
				t.Errorf("it is %v after maintenance", added.State())
			}
		})
		eventually(t, "it is down", func() bool { return added.State() == Down })
	})
}

// The other initial states.
func TestInitialStates(t *testing.T) {
	for _, test := range []struct {
		initial config.InitialState
		state   State
	}{{"up", Up}, {"down", Down}, {"wait", Waiting}} {
		r, backing := run(t, reactor.Epoll, 1), serve(t)
		p := waitingBackend(backing)
		p.Settings.Check.Initial = test.initial
		p.Settings.Check.DownInterval, p.Settings.Check.FastInterval = time.Millisecond, time.Millisecond
		c := r.Prepare(&plan.Plan{Backends: []plan.Backend{p}})
		r.on(func() {
			c.Commit()
			if st := c.Backends()["a"].member.servers[0].State(); st != test.state {
				t.Errorf("%s: it is %v, want %v", test.initial, st, test.state)
			}
		})
		only := c.Backends()["a"].member.servers[0]
		eventually(t, "it is up", func() bool { return only.State() == Up })
		if n := only.checking.counts[checkSuccess].Load(); test.initial == "down" && n < 2 {
			t.Errorf("it is up after %d checks", n)
		}
	}
}

// A check that finds nothing out because of this machine ends the waiting: it tells nothing against the server.
func TestInconclusiveFirstCheck(t *testing.T) {
	r, backing := run(t, reactor.Epoll, 1), serve(t)
	c := r.Prepare(&plan.Plan{Backends: []plan.Backend{waitingBackend(backing)}})
	r.on(func() {
		c.Commit()
		s := c.Backends()["a"].member.servers[0]
		if s.checked(health.ErrInconclusive, 0); s.State() != Up {
			t.Errorf("it is %v", s.State())
		}
	})
}

// Checks that are taken away end the waiting.
func TestWaitingWithoutChecks(t *testing.T) {
	r, backing := run(t, reactor.Epoll, 1), serve(t)
	first := waitingBackend(backing)
	first.Servers[0].State = plan.Maintenance // so that it is not checked
	b := r.commit(first)["a"]
	next := waitingBackend(backing)
	next.Settings.Check.Interval = 0
	if r.commit(next); b.member.servers[0].State() != Up {
		t.Errorf("it is %v", b.member.servers[0].State())
	}
}

// Where few servers are checked, the others wait for the first checks of these: else they would be used meanwhile.
func TestRosterWaits(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	var all []*served
	for range 8 {
		all = append(all, serve(t))
	}
	p := waitingBackend(all...)
	p.Settings.Balance.Subset = 2
	c := r.Prepare(&plan.Plan{Backends: []plan.Backend{p}})
	b := c.Backends()["a"]
	r.on(func() {
		if c.Commit(); r.Waiting() != 8 {
			t.Errorf("%d servers wait, want all 8", r.Waiting())
		}
	})
	if n := len(r.monitored(b)); n != 3 {
		t.Errorf("%d servers are checked, want 3", n)
	}
	eventually(t, "all are up", func() bool { return r.Waiting() == 0 && len(used(b)) == 2 })
	checked := fmt.Sprint(r.monitored(b))
	for _, s := range used(b) {
		if s.checking.monitor == nil {
			t.Errorf("%v is used and not checked: %s", s.Address, checked)
		}
	}
}
