package proxy

import (
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// pausable has a queue and retries soon, and holds nothing unless the backend is paused.
func pausable(s *config.Backend) { s.Queue.Size, s.RetryDelay = 8, 10*time.Millisecond }

// pause pauses the backend.
func (p *Proxy) pause(t *testing.T, length time.Duration) {
	t.Helper()
	if found, err := p.PauseBackend(t.Context(), "b", length); !found || err != nil {
		t.Fatalf("pause: %v, %v", found, err)
	}
}

// resume ends the pause of the backend.
func (p *Proxy) resume(t *testing.T) {
	t.Helper()
	if !p.ResumeBackend("b") {
		t.Fatal("there is no such backend")
	}
}

// holdAs has clients come to a backend that holds them.
func holdAs(t *testing.T, p *Proxy, clients int) (all []*net.TCPConn) {
	t.Helper()
	for i := range clients {
		all = append(all, dialAs(t, p, byte(i)))
		waitFor(t, "the connection is held", func() bool { return p.Stats().Backends[0].Held == i+1 })
	}
	return all
}

// expectNoAccept fails if a server has got a connection.
func expectNoAccept(t *testing.T, ln net.Listener) {
	t.Helper()
	_ = ln.(*net.TCPListener).SetDeadline(time.Now())
	if s, err := ln.Accept(); err == nil {
		s.Close()
		t.Error("the server has got a connection")
	}
}

// While a backend is paused, open connections go on, and new ones wait for the resume, in order.
func TestPause(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, nil, pausable, ln)
		c, s := pair(t, p, ln)
		p.pause(t, time.Minute)
		if b := p.Stats().Backends[0]; !b.Paused || b.PauseLeft <= 0 || b.PauseLeft > 60 {
			t.Errorf("paused %v, %v s left", b.Paused, b.PauseLeft)
		}
		all := holdAs(t, p, 5)
		pass(t, c, s)
		pass(t, s, c)
		expectNoAccept(t, ln)
		p.resume(t)
		for i, c := range all {
			pass(t, expectName(t, ln, byte(i)).(*net.TCPConn), c)
		}
		waitFor(t, "none is held", func() bool { return p.Stats().Backends[0].Held == 0 && queued(p) == 0 })
		if b := p.Stats().Backends[0]; b.Paused || b.PauseLeft != 0 || holds(p, heldServed) != 5 {
			t.Errorf("paused %v, %v s left, %d served", b.Paused, b.PauseLeft, holds(p, heldServed))
		}
		p.resume(t) // changes nothing
		pair(t, p, ln)
	})
}

// A pause that nobody ends ends at its time: that of the last request.
func TestPauseExpires(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, nil, pausable, ln)
		p.pause(t, time.Hour)
		c := holdAs(t, p, 1)[0]
		p.pause(t, 50*time.Millisecond)
		pass(t, expectName(t, ln, 0).(*net.TCPConn), c)
		if p.Stats().Backends[0].Paused {
			t.Error("it is paused")
		}
	})
}

// Who waits is bounded in number by the queue, and in time by hold.
func TestPauseIsBounded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const limit = 300 * time.Millisecond
		p := startAs(t, ring, nil, func(s *config.Backend) {
			holding(limit)(s)
			s.Queue.Size = 2
		}, listen(t))
		p.pause(t, time.Minute)
		began := time.Now()
		all := holdAs(t, p, 2)
		expectRefusal(t, p)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonQueueFull) == 1 })
		for _, c := range all {
			expectReset(t, c)
		}
		if took := time.Since(began); took < limit {
			t.Errorf("reset after %v", took)
		}
		waitFor(t, "the ends are counted", func() bool { return endedBy(p, reasonHoldTimeout) == 2 })
	})
}

// A server that is down when its backend is resumed is awaited, also without hold, by those that the pause has held.
func TestResumeWithoutServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		at := freePort(t)
		f := setupOf(Backend{Set: pausable, Servers: []Server{{Name: "0", Address: at}}})
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		p.pause(t, time.Minute)
		all := holdAs(t, p, 3)
		p.resume(t)
		failures := func() uint64 { return p.Stats().Servers[0].Failures }
		waitFor(t, "the server was tried", func() bool { return failures() > 1 })
		ln := listenAt(t, net.TCPAddrFromAddrPort(at))
		for i, c := range all {
			pass(t, expectName(t, ln, byte(i)).(*net.TCPConn), c)
		}
	})
}

// A connection whose server has just failed waits, too, when the backend is paused before another attempt.
func TestPauseDuringRetry(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		at := freePort(t)
		f := setupOf(Backend{Servers: []Server{{Name: "0", Address: at}}, Set: func(s *config.Backend) {
			s.Queue.Size, s.RetryDelay, s.Retries = 8, 500*time.Millisecond, 1
		}})
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		c := dialAs(t, p, 7)
		waitFor(t, "the server has failed", func() bool { return p.Stats().Servers[0].Failures == 1 })
		p.pause(t, time.Minute)
		waitFor(t, "it is held", func() bool { return p.Stats().Backends[0].Held == 1 })
		ln := listenAt(t, net.TCPAddrFromAddrPort(at))
		p.resume(t)
		pass(t, expectName(t, ln, 7).(*net.TCPConn), c)
	})
}

// A pause survives a reload that changes the backend, and ends with one that removes it: one of the same name that
// comes later is not paused.
func TestPauseAndReload(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln, other := listen(t), listen(t)
		f := setupOf(Backend{Set: pausable}, ln)
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		p.pause(t, time.Minute)
		first := holdAs(t, p, 1)[0]
		f.Backends = setupOf(Backend{Set: pausable}, other).Backends
		p.change(t, f)
		if b := p.Stats().Backends[0]; !b.Paused || b.Held != 1 {
			t.Errorf("paused %v, %d held", b.Paused, b.Held)
		}
		p.resume(t)
		pass(t, expectName(t, other, 0).(*net.TCPConn), first)

		p.pause(t, time.Minute)
		last := holdAs(t, p, 1)[0]
		g := f
		g.Backends, g.Listeners = setupOf(Backend{Set: pausable}, other).Backends, setupOf(Backend{}).Listeners
		g.Backends[0].Name, g.Listeners[0].Backend = "other", "other"
		p.change(t, g)
		expectReset(t, last)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonNoneAvailable) == 1 })
		if found, err := p.PauseBackend(t.Context(), "b", time.Minute); found || err != nil {
			t.Errorf("a backend that is gone was paused: %v", err)
		}
		p.change(t, f)
		pair(t, p, other)
	})
}

// Panic mode uses servers that are down, and a pause none of them; what ejects servers does not end it.
func TestPauseBeforePanic(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t) // it answers no check
		p := startAs(t, ring, nil, func(s *config.Backend) {
			pausable(s)
			s.Balance.PanicThreshold = 100
			s.Check.Interval, s.Check.Timeout, s.Check.Fall = time.Hour, 10*time.Millisecond, 1
			s.Check.Send, s.Check.Expect = "x", "y"
		}, ln)
		waitFor(t, "health is ignored", func() bool { return p.Stats().Backends[0].Panic })
		p.pause(t, time.Minute)
		total := p.Stats().Servers[0].Total
		all := holdAs(t, p, 3)
		if n := p.Stats().Servers[0].Total; n != total {
			t.Errorf("%d connections have got the server", n-total)
		}
		p.resume(t)
		waitFor(t, "all have the server", func() bool { return p.Stats().Servers[0].Total == total+uint64(len(all)) })
	})
}

// A drain lets those wait that a pause holds, and a resume lets it end with them.
func TestPauseAndDrain(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, nil, pausable, ln)
		p.pause(t, time.Minute)
		c := holdAs(t, p, 1)[0]
		p.BeginDrain(false)
		p.resume(t)
		s := expectName(t, ln, 0).(*net.TCPConn)
		pass(t, s, c)
		s.Close()
		c.Close()
		waitFor(t, "the proxy has ended", func() bool {
			select {
			case <-p.ended:
				return true
			default:
				return false
			}
		})
	})
}

// The control loop of a proxy that drains ends before the others. What these hold is resumed, and a pause expires.
func TestPauseOutlivesControlLoop(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *Proxy){
		"resume": func(t *testing.T, p *Proxy) { p.resume(t) },
		"expiry": func(*testing.T, *Proxy) {},
	} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				f := setupOf(Backend{Set: pausable}, ln)
				f.Ring, f.Loops = ring, 2
				p := f.run(t)
				length := time.Minute
				if name == "expiry" {
					length = 2 * time.Second
				}
				p.pause(t, length)
				var c *net.TCPConn
				for i := byte(0); c == nil; i++ { // until the other loop has one
					c = dialAs(t, p, i)
					waitFor(t, "the connection is held", func() bool { return p.Stats().Backends[0].Held == 1 })
					if p.workers[1].open.Load() == 0 {
						resetConn(c)
						waitFor(t, "it has left", func() bool { return p.Stats().Backends[0].Held == 0 })
						c = nil
					}
				}
				p.BeginDrain(false)
				waitFor(t, "the control loop has ended", func() bool {
					_, err := p.PauseBackend(t.Context(), "none", time.Minute)
					return err != nil
				})
				end(t, p)
				s := acceptFrom(t, ln)
				got := make([]byte, 1)
				if _, err := s.Read(got); err != nil {
					t.Fatal(err)
				}
				pass(t, s, c)
			})
		})
	}
}

// A process that another one has replaced keeps what it holds until it is resumed, too.
func TestPauseOfReplaced(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, nil, pausable, ln)
		p.pause(t, time.Minute)
		c := holdAs(t, p, 1)[0]
		health := p.Health()
		if len(health.Paused) != 1 || health.Paused[0].Backend != "b" || time.Until(health.Paused[0].Ends) > time.Minute {
			t.Errorf("handed over: %+v", health.Paused)
		}
		p.StopAccepting()
		if b := p.Stats().Backends[0]; !b.Paused || b.Held != 1 {
			t.Errorf("paused %v, %d held", b.Paused, b.Held)
		}
		expectNoAccept(t, ln)
		p.resume(t)
		pass(t, expectName(t, ln, 0).(*net.TCPConn), c)
	})
}

// Explaining says that the backend is paused.
func TestExplainPause(t *testing.T) {
	p := startAs(t, reactor.Auto, nil, pausable, listen(t))
	p.pause(t, time.Minute)
	if x := explained(t, p, Client{}); x.Outcome != "queue" || x.Backends[0].Reason != "the backend is paused" {
		t.Errorf("%+v", x)
	}
	p.resume(t)
	if x := explained(t, p, Client{}); x.Outcome != "forward" {
		t.Errorf("%+v", x)
	}
}
