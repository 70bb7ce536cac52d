package upstream

import (
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
)

// fail lets connects to a server fail until it is to be ejected.
func (r *running) fail(s *Server) {
	r.on(func() {
		for range s.Backend.Settings().Ejection.Failures {
			s.Failed(syscall.ECONNREFUSED)
		}
	})
	r.on(func() {}) // the suggestion has been decided
}

// lasting ejects for longer than a test takes.
func lasting(c *config.Backend) {
	c.Ejection = config.Ejection{Failures: 3, Time: time.Hour, MaxTime: 10 * time.Hour, MaxPercent: 50}
}

// checksBy checks as often as it says.
func checksBy(interval time.Duration) func(*config.Backend) {
	return func(c *config.Backend) {
		c.Check.Interval, c.Check.FastInterval = interval, interval
	}
}

// An ejection ends when the check has passed Rise times since it began.
func TestCheckEndsEjection(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r := run(t, ring, 1)
		p := backend("a", 2, lasting, checksBy(10*time.Millisecond), func(c *config.Backend) { c.Check.Rise = 3 })
		for i := range p.Servers {
			p.Servers[i].Address = serveraddr.IP(serve(t).address)
		}
		s := r.commit(p)["a"].Group().Servers[0]
		for range 3 {
			r.fail(s)
			eventually(t, "the check ends the ejection", func() bool { return s.State() == Up })
			s.Connected(0, 1) // so the check was right
		}
		if _, stats := r.read(); stats[0].Ejections != 3 {
			t.Errorf("%d ejections, want 3", stats[0].Ejections)
		}
	})
}

// What a check says that began before the ejection does not end it, and a failure begins anew. A check that is wrong
// ends the next ejection later, until a connect has succeeded.
func TestCheckThatMisleads(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	s := r.commit(backend("a", 2, lasting, checksBy(time.Hour)))["a"].Group().Servers[0]
	// passes returns how many checks that pass end the ejection.
	passes := func() (n int) {
		t.Helper()
		r.fail(s)
		r.on(func() {
			now := s.Backend.now()
			for range 10 {
				s.ejection.checked(true, s.ejection.began)
			}
			for s.State() == Ejected && n < 100 {
				n++
				s.ejection.checked(true, now+int64(n))
			}
		})
		return n
	}
	for round, want := range []int{2, 4, 6, 8} {
		if n := passes(); n != want {
			t.Errorf("ejection %d has ended after %d checks, want %d", round, n, want)
		}
	}
	s.Connected(0, 1)
	if n := passes(); n != 2 {
		t.Errorf("%d checks were needed after a connect that succeeded, want 2", n)
	}
	r.fail(s)
	r.on(func() {
		later := s.Backend.now() + 1
		s.ejection.checked(true, later)
		s.ejection.checked(false, later)
		s.ejection.checked(true, later)
		if s.State() != Ejected {
			t.Error("two checks that passed, with one between that failed, have ended the ejection")
		}
		if s.ejection.checked(true, later); s.State() != Up {
			t.Error("two checks in a row have not ended the ejection, although a check has seen the failure")
		}
	})
}

// Ejection leaves the last server that could serve, and with checks that of each priority.
func TestEjectionLeavesTheLast(t *testing.T) {
	for _, test := range []struct {
		name    string
		checked bool
		change  func(p *plan.Backend)
		others  State // of the servers but the first, by their checks
		want    State
	}{
		{name: "another is up", want: Ejected},
		{name: "others are down by their checks", others: Down, want: Up},
		{name: "others drain", change: func(p *plan.Backend) { p.Servers[1].State = plan.Drain }, want: Up},
		{name: "others have no weight", change: func(p *plan.Backend) { p.Servers[1].Weight = 0 }, want: Up},
		{name: "a backup, without checks", change: func(p *plan.Backend) { p.Servers[1].Backup = true }, want: Ejected},
		{name: "a backup, with checks", checked: true,
			change: func(p *plan.Backend) { p.Servers[1].Backup = true }, want: Up},
		{name: "another priority, with checks", checked: true,
			change: func(p *plan.Backend) { p.Servers[0].Priority = 1 }, want: Up},
		{name: "the same priority, with checks", checked: true, want: Ejected},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, reactor.Epoll, 1)
			p := backend("a", 2, lasting)
			if test.checked {
				checksBy(time.Hour)(p.Settings)
			}
			if test.change != nil {
				test.change(&p)
			}
			servers := r.commit(p)["a"].member.servers
			r.on(func() { servers[1].report(signalCheck, test.others, "test") })
			r.fail(servers[0])
			if st := servers[0].State(); st != test.want {
				t.Errorf("it is %v, want %v", st, test.want)
			}
		})
	}
}

// Of the servers that could serve, at most max_percent are out.
func TestEjectionsOfServersThatCouldServe(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	servers := r.commit(backend("a", 8, lasting))["a"].member.servers
	r.on(func() {
		for _, s := range servers[4:] {
			s.report(signalCheck, Down, "test")
		}
	})
	out := 0
	for _, s := range servers {
		if r.fail(s); s.status.Load().states[signalEjection] == Ejected {
			out++
		}
	}
	if out != 2 {
		t.Errorf("%d of 4 servers that could serve are ejected, want 2", out)
	}
}

// A server comes back when it has become the last one that could serve.
func TestEjectionOfWhatBecomesTheLast(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(r *running, p *plan.Backend, other *Server)
	}{
		{"the other is down", func(r *running, _ *plan.Backend, other *Server) {
			r.on(func() { other.report(signalCheck, Down, "test") })
		}},
		{"its agent drains the other", func(r *running, _ *plan.Backend, other *Server) {
			r.on(func() { other.reportAgent(Drain, "test", 100) })
		}},
		{"its agent takes the weight of the other", func(r *running, _ *plan.Backend, other *Server) {
			r.on(func() { other.reportAgent(Up, "", 0) })
		}},
		{"the plan drains the other", func(r *running, p *plan.Backend, _ *Server) {
			next := backend("a", 2, lasting)
			next.Servers[1].State = plan.Drain
			r.commit(next)
		}},
		{"the other has left", func(r *running, p *plan.Backend, _ *Server) { r.commit(backend("a", 1, lasting)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, reactor.Epoll, 1)
			p := backend("a", 2, lasting)
			b := r.commit(p)["a"]
			s, other := b.member.servers[0], b.member.servers[1]
			if r.fail(s); s.State() != Ejected {
				t.Fatalf("it is %v", s.State())
			}
			test.lose(r, &p, other)
			eventually(t, "it is back", func() bool { return s.State() == Up && len(used(b)) > 0 && used(b)[0] == s })
		})
	}
}

// A server that is not ejected because it is the last of its priority is checked immediately, and one failure takes it
// down.
func TestCheckInPlaceOfEjection(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		r, primary, spare := run(t, ring, 1), serve(t), serve(t)
		p := backend("a", 2, lasting, checksBy(time.Hour), func(c *config.Backend) {
			c.Check.FastInterval, c.Check.DownInterval = time.Millisecond, 10*time.Millisecond
		})
		p.Servers[0].Address, p.Servers[1].Address = serveraddr.IP(primary.address), serveraddr.IP(spare.address)
		p.Servers[1].Backup = true
		b := r.commit(p)["a"]
		s := b.member.servers[0]
		primary.down()
		r.fail(s)
		eventually(t, "the check finds out", func() bool { return s.State() == Down })
		primary.up()
		eventually(t, "the check has it back", func() bool { return s.State() == Up })
	})
}

// A server on a unix socket to which this process may not connect is ejected: others may be allowed. What this machine
// lacks ejects none.
func TestEjectionOfADeniedServer(t *testing.T) {
	r := run(t, reactor.Epoll, 1)
	for err, want := range map[error]State{
		serveraddr.Unix("/a").ConnectError(syscall.EACCES): Ejected,
		serveraddr.Unix("/a").ConnectError(syscall.EAGAIN): Ejected,
		serveraddr.Unix("/a").ConnectError(syscall.EMFILE): Up,
		syscall.EACCES: Up,
	} {
		s := r.commit(backend("a", 2, lasting))["a"].Group().Servers[0]
		r.on(func() {
			for range s.Backend.Settings().Ejection.Failures {
				s.Failed(err)
			}
		})
		r.on(func() {}) // the suggestion has been decided
		if got := s.State(); got != want {
			t.Errorf("after %v it is %v, want %v", err, got, want)
		}
		r.commit()
	}
}
