package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// silent is an address that answers no SYN: its backlog is full.
func silent(t *testing.T) net.Listener {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err := errors.Join(err, unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in4 := at.(*unix.SockaddrInet4)
	addr := &net.TCPAddr{IP: in4.Addr[:], Port: in4.Port}
	for {
		c, err := net.DialTimeout("tcp", addr.String(), 200*time.Millisecond)
		if err != nil {
			return refuser{addr: addr}
		}
		t.Cleanup(func() { c.Close() })
	}
}

// expectRefusal makes a connection that is reset.
func expectRefusal(t *testing.T, p *Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addrs()[0].String()) // it may be reset already
	if err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v, want a reset", err)
	}
}

// A server that does not answer is left for another one after the connect timeout.
func TestConnectTimeout(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		const limit = 100 * time.Millisecond
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{ConnectTimeout: limit}, silent(t), listen(t))
		for range 2 { // one of them begins with the silent server
			began := time.Now()
			c := dialAs(t, p, 0)
			waitFor(t, "it is connected", func() bool {
				all := list(t, p, Filter{}, 0)
				return len(all) == 1 && all[0].Phase == "data"
			})
			if took := time.Since(began); took > 20*limit {
				t.Errorf("it took %v", took)
			}
			c.Close()
			_, _ = p.CloseConnections(t.Context(), Filter{})
			waitFor(t, "it has ended", func() bool { return len(list(t, p, Filter{}, 0)) == 0 })
		}
		failures, retries := uint64(0), uint64(0)
		for _, s := range p.Stats().Servers {
			for _, f := range s.FailuresByReason {
				if f.Reason == "timeout" {
					failures += f.Count
				}
			}
			retries += s.Retries
		}
		if failures == 0 || failures != retries {
			t.Errorf("%d timeouts and %d retries", failures, retries)
		}
	})
}

// The time for all attempts is bounded. A server is not blamed if there was little time left for it.
func TestTotalConnectTimeout(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		const one, all = 200 * time.Millisecond, 300 * time.Millisecond
		b := Backend{ConnectTimeout: one, Set: func(s *config.Backend) { s.TotalConnectTimeout = all }}
		p := start(t, ring, b, silent(t), silent(t), silent(t))
		began := time.Now()
		expectRefusal(t, p)
		if took := time.Since(began); took < all || took > all+5*time.Second {
			t.Errorf("it took %v, want %v", took, all)
		}
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonConnectTimeout) == 1 })
		failures := uint64(0)
		for _, s := range p.Stats().Servers {
			for _, f := range s.FailuresByReason {
				failures += f.Count
			}
		}
		if failures != 1 {
			t.Errorf("%d failures, want 1", failures)
		}
	})
}

// Retries are bounded by their budget.
func TestRetryBudgetIsKept(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		b := Backend{Set: func(s *config.Backend) { s.RetryBudget = config.RetryBudget{Percent: 1, Min: 1} }}
		ln, _ := counted(t)
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, b, refusing(t), ln)
		for range 100 {
			if c, err := net.Dial("tcp", p.Addrs()[0].String()); err == nil {
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			}
		}
		waitFor(t, "all have ended", func() bool { return p.Stats().Listeners[0].Connections == 0 })
		if n := endedBy(p, reasonRetryBudget); n < 30 || n > 50 {
			t.Errorf("%d connections had no retry, want nearly 50", n)
		}
	})
}

// Source addresses take turns. One that is not of this machine is skipped, and no server is blamed.
func TestSourceAddresses(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		sources := []string{"127.0.0.2", "203.0.113.201", "127.0.0.3"}
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{Set: func(s *config.Backend) {
			for _, a := range sources {
				s.SourceAddresses = append(s.SourceAddresses, config.IP{Addr: netip.MustParseAddr(a)})
			}
			s.Ejection.Failures = 1
		}}, ln)
		from := map[string]int{}
		const clients = 40
		for i := range clients {
			c := dialAs(t, p, byte(i))
			s := expectName(t, ln, byte(i))
			from[s.RemoteAddr().(*net.TCPAddr).IP.String()]++
			c.Close()
			s.Close()
		}
		if a, b := from[sources[0]], from[sources[2]]; a+b != clients || a < clients/4 || b < clients/4 {
			t.Errorf("connections from %v", from)
		}
		for _, f := range p.Stats().Servers[0].FailuresByReason {
			if (f.Reason == "addrnotavail") != (f.Count > 0) {
				t.Errorf("%d failures: %s", f.Count, f.Reason)
			}
		}
	})
}

// Without a local port a connection fails immediately, and does not try the same again.
func TestNoLocalPort(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p := start(t, ring, Backend{Set: func(s *config.Backend) {
			a := netip.MustParseAddr("203.0.113.201")
			s.SourceAddresses, s.Retries = []config.IP{{Addr: a}, {Addr: a.Next()}}, 100
		}}, listen(t), listen(t))
		const clients = 10
		for range clients {
			expectRefusal(t, p)
		}
		waitFor(t, "all have ended", func() bool { return p.Stats().Listeners[0].Connections == 0 })
		if n := endedBy(p, reasonNoServer) + endedBy(p, reasonLocal); n != clients {
			t.Errorf("%d connections had no port", n)
		}
		attempts := uint64(0)
		for _, s := range p.Stats().Servers {
			for _, f := range s.FailuresByReason {
				attempts += f.Count
			}
		}
		if attempts > 4*clients {
			t.Errorf("%d attempts", attempts)
		}
	})
}

// A server that is killed costs no client an error while another one is up.
func TestKilledServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		killed, stays := listen(t), listen(t)
		go echo(killed)
		go echo(stays)
		p := start(t, ring, Backend{Set: func(s *config.Backend) {
			s.RetryBudget, s.Ejection.Failures = config.NewBackend().RetryBudget, 5
		}}, killed, stays)
		for i := range 200 {
			if i == 50 {
				killed.Close()
			}
			c := dialAs(t, p, 1)
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
			c.Close()
			// The control loop ejects it. If that came late, the budget of retries could be used up before.
			waitFor(t, "the server that fails is ejected", func() bool {
				for _, s := range p.Stats().Servers {
					failed := uint64(0)
					for _, f := range s.FailuresByReason {
						failed += f.Count
					}
					if failed >= 5 && s.Ejections == 0 {
						return false
					}
				}
				return true
			})
		}
	})
}

// The kernel's options are set on both sides: TCP_NODELAY and TCP_USER_TIMEOUT immediately, keep-alive when a
// connection has lasted for as long as the first probe waits.
func TestSocketOptions(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		ln := listen(t)
		p := startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{Set: func(s *config.Backend) {
			s.UserTimeout = 12345 * time.Millisecond
			s.KeepAlive = config.KeepAlive{Idle: time.Second, Interval: 7 * time.Second, Count: 3}
		}}, ln)
		pair(t, p, ln)
		options := func(level, option int) (values [2]int) {
			p.on(func(w *worker) {
				c := connOf(w.conns.First())
				for side := range c.sockets {
					v, err := unix.GetsockoptInt(c.sockets[side].Fd(), level, option)
					if err != nil {
						t.Error(err)
					}
					values[side] = v
				}
			})
			return values
		}
		if v := options(unix.IPPROTO_TCP, unix.TCP_NODELAY); v != [2]int{1, 1} {
			t.Errorf("TCP_NODELAY is %v", v)
		}
		if v := options(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); v != [2]int{12345, 12345} {
			t.Errorf("TCP_USER_TIMEOUT is %v", v)
		}
		waitFor(t, "keep-alive is on", func() bool { return options(unix.SOL_SOCKET, unix.SO_KEEPALIVE) == [2]int{1, 1} })
		for option, want := range map[int]int{unix.TCP_KEEPIDLE: 1, unix.TCP_KEEPINTVL: 7, unix.TCP_KEEPCNT: 3} {
			if v := options(unix.IPPROTO_TCP, option); v != [2]int{want, want} {
				t.Errorf("option %d is %v, want %d", option, v, want)
			}
		}
	})
}

// A listener may have its own keep-alive with clients, or none.
func TestKeepAliveWithClients(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for mode, want := range map[config.KeepAliveMode][2]int{"own": {7, 9}, "none": {0, 9}, "backend": {9, 9}} {
			t.Run(string(mode), func(t *testing.T) {
				t.Parallel() // it waits
				ln := listen(t)
				p := startAs(t, ring, func(l *plan.Listener) {
					l.Socket.KeepAlive = config.ClientKeepAlive{Mode: mode, Idle: time.Second, Interval: 7 * time.Second, Count: 3}
				}, func(s *config.Backend) {
					s.KeepAlive = config.KeepAlive{Idle: time.Second, Interval: 9 * time.Second, Count: 3}
				}, ln)
				pair(t, p, ln)
				waitFor(t, "keep-alive is as the listener says", func() (is bool) {
					p.on(func(w *worker) {
						c := connOf(w.conns.First())
						var got [2]int
						for side := range c.sockets {
							if on, _ := unix.GetsockoptInt(c.sockets[side].Fd(), unix.SOL_SOCKET, unix.SO_KEEPALIVE); on != 0 {
								got[side], _ = unix.GetsockoptInt(c.sockets[side].Fd(), unix.IPPROTO_TCP, unix.TCP_KEEPINTVL)
							}
						}
						is = got == want
					})
					return is
				})
			})
		}
	})
}

// A backend without a server that takes connections resets them.
func TestNoServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		p := start(t, ring, Backend{})
		expectRefusal(t, p)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonNoneAvailable) == 1 })
	})
}
