package proxy

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// holding sets how long a backend holds connections, which are tried again soon.
func holding(d time.Duration) func(*config.Backend) {
	return func(s *config.Backend) { s.Hold, s.RetryDelay, s.Queue.Size = d, 10*time.Millisecond, 8 }
}

// holds returns how many held connections have ended in a way.
func holds(p *Proxy, outcome heldOutcome) uint64 {
	return p.Stats().Backends[0].Holds[outcome].Count
}

// listenAt listens at the address of a server that has refused connections.
func listenAt(t *testing.T, address net.Addr) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// Connections wait while no server is known, and get the first one in order.
func TestHoldWithoutServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		f := setupOf(Backend{Set: holding(time.Minute)})
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		const clients = 5
		var all []*net.TCPConn
		for i := range clients {
			all = append(all, dialAs(t, p, byte(i)))
			waitFor(t, "the connection is held", func() bool { return p.Stats().Backends[0].Held == i+1 })
		}
		f.Backends = setupOf(Backend{Set: holding(time.Minute)}, ln).Backends
		p.change(t, f)
		for i, c := range all {
			pass(t, expectName(t, ln, byte(i)).(*net.TCPConn), c)
		}
		waitFor(t, "none is held", func() bool { return p.Stats().Backends[0].Held == 0 && queued(p) == 0 })
		if n := holds(p, heldServed); n != clients {
			t.Errorf("%d were served, want %d", n, clients)
		}
	})
}

// A server that refuses connections is tried again, one at a time, until it is back.
func TestHoldWhileServersFail(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		at := freePort(t)
		f := setupOf(Backend{Set: holding(time.Minute), Servers: []Server{{Name: "0", Address: at}}})
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		const clients = 5
		var all []*net.TCPConn
		for i := range clients {
			all = append(all, dialAs(t, p, byte(i)))
			waitFor(t, "the connection is held", func() bool { return p.Stats().Backends[0].Held == i+1 })
		}
		failed := p.Stats().Servers[0].Failures
		waitFor(t, "it is tried again", func() bool { return p.Stats().Servers[0].Failures > failed+2 })
		if n := p.Stats().Backends[0].Held; n != clients {
			t.Errorf("%d are held, want %d", n, clients)
		}
		ln := listenAt(t, net.TCPAddrFromAddrPort(at))
		for i, c := range all {
			pass(t, expectName(t, ln, byte(i)).(*net.TCPConn), c)
		}
	})
}

// The hold is bounded in number, and in time; a client that resets its connection leaves it.
func TestHoldIsBounded(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const limit = 500 * time.Millisecond
		p := startAs(t, ring, nil, func(s *config.Backend) {
			holding(limit)(s)
			s.Queue.Size = 2
		})
		began := time.Now()
		waits, leaves := dialAs(t, p, 0), dialAs(t, p, 1)
		waitFor(t, "both are held", func() bool { return p.Stats().Backends[0].Held == 2 })
		expectRefusal(t, p)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonQueueFull) == 1 })
		resetConn(leaves)
		waitFor(t, "the place is free", func() bool { return p.Stats().Backends[0].Held == 1 })
		waitFor(t, "its leaving is counted", func() bool { return endedBy(p, reasonQueueClientReset) == 1 })
		expectReset(t, waits)
		if took := time.Since(began); took < limit {
			t.Errorf("reset after %v", took)
		}
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonHoldTimeout) == 1 })
		for outcome, want := range map[heldOutcome]uint64{heldTimeout: 1, heldClient: 1, heldRefused: 1, heldServed: 0} {
			if n := holds(p, outcome); n != want {
				t.Errorf("%s: %d, want %d", heldOutcomes[outcome], n, want)
			}
		}
	})
}

// Nothing is received of a client that is held: its window closes, and what it has sent is for the server.
func TestHeldClientThatSendsMuch(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const size = 32 << 20
		ln := listen(t)
		f := setupOf(Backend{Set: holding(time.Minute)})
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		c := dialProxy(t, p)
		sent := make(chan error)
		go func() {
			_, err := c.Write(make([]byte, size))
			_ = c.CloseWrite()
			sent <- err
		}()
		waitFor(t, "it is held", func() bool { return p.Stats().Backends[0].Held == 1 })
		if n := leased(p); n != 0 {
			t.Errorf("%d bytes of buffers are in use", n)
		}
		select {
		case err := <-sent:
			t.Fatalf("all bytes were taken: %v", err)
		default:
		}
		f.Backends = setupOf(Backend{Set: holding(time.Minute)}, ln).Backends
		p.change(t, f)
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n, err := io.Copy(io.Discard, s); n != size || err != nil {
			t.Errorf("the server has received %d bytes, %v", n, err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

// A plan without the backend ends the connections that it holds: no server will come.
func TestHeldBackendIsRemoved(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		f := setupOf(Backend{Set: holding(time.Minute)})
		f.Ring = ring
		p := f.run(t)
		c := dialAs(t, p, 0)
		waitFor(t, "it is held", func() bool { return p.Stats().Backends[0].Held == 1 })
		f.Backends[0].Name, f.Listeners[0].Backend = "other", "other"
		p.change(t, f)
		expectReset(t, c)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonNoneAvailable) == 1 })
	})
}

// A process that another one has replaced checks no server any longer. What it holds finds out by connecting.
func TestHeldWithoutChecks(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		at := freePort(t)
		f := setupOf(Backend{Servers: []Server{{Name: "0", Address: at}}, Set: func(s *config.Backend) {
			holding(time.Minute)(s)
			s.Check.Interval = time.Hour
		}})
		f.Ring = ring
		p := f.run(t)
		waitFor(t, "the server is down", func() bool { return p.Stats().Servers[0].State == "down" })
		c := dialAs(t, p, 3)
		waitFor(t, "it is held", func() bool { return p.Stats().Backends[0].Held == 1 })
		p.StopAccepting()
		ln := listenAt(t, net.TCPAddrFromAddrPort(at))
		pass(t, expectName(t, ln, 3).(*net.TCPConn), c)
	})
}

// A server with a short backlog that comes up and accepts slowly gets all that were held, and refuses none.
func TestHeldAreReleasedGradually(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const clients = 400
		at := freePort(t)
		p := startAs(t, ring, nil, func(s *config.Backend) {
			holding(time.Minute)(s)
			s.Queue.Size = clients
		})
		var all []*net.TCPConn
		for range clients {
			all = append(all, dialAs(t, p, 1))
		}
		waitFor(t, "all are held", func() bool { return p.Stats().Backends[0].Held == clients })
		fd := listenShort(t, at, 2*maxReleases)
		f := setupOf(Backend{Servers: []Server{{Name: "0", Address: at}}, Set: func(s *config.Backend) {
			holding(time.Minute)(s)
			s.Queue.Size = clients
		}})
		p.change(t, f)
		shared := p.sharedBackend(p.table.Load().backends["b"])
		for n := 0; n < clients; {
			if on := shared.hold.underway.Load(); on > maxReleases {
				t.Errorf("%d are on their way", on)
			}
			s, _, err := unix.Accept(fd)
			if err != nil {
				time.Sleep(time.Millisecond)
				continue
			}
			unix.Close(s)
			n++
		}
		for _, c := range all {
			_, _ = c.Read(make([]byte, 1))
		}
		waitFor(t, "all were served", func() bool { return holds(p, heldServed) == clients })
		if n := p.Stats().Servers[0].Failures; n != 0 {
			t.Errorf("%d connects have failed", n)
		}
	})
}

// listenShort listens with a backlog, and does not block in accept.
func listenShort(t *testing.T, at netip.AddrPort, backlog int) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	to := &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
	if err := unix.Bind(fd, to); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		t.Fatal(fmt.Errorf("listen: %w", err))
	}
	return fd
}

// Explaining says that a connection is held, and for how long.
func TestExplainHold(t *testing.T) {
	p := startAs(t, reactor.Auto, nil, func(s *config.Backend) {
		holding(time.Minute)(s)
		s.Queue.Size = 1
	})
	x := explained(t, p, Client{})
	if x.Outcome != "queue" || x.Backends[0].Reason != "it is held: there is no server" {
		t.Errorf("%+v", x)
	}
	if !slices.ContainsFunc(x.Backends[0].Timeouts, func(t stats.ExplainedTimeout) bool {
		return t.Setting == "hold" && t.Seconds == 60
	}) {
		t.Errorf("timeouts: %+v", x.Backends[0].Timeouts)
	}
	dialProxy(t, p)
	waitFor(t, "the connection is held", func() bool { return queued(p) == 1 })
	if x := explained(t, p, Client{}); x.Outcome != "refuse" || x.Reason != reasonQueueFull.String() {
		t.Errorf("with a full queue: %+v", x)
	}
}
