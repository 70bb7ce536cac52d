package proxy

import (
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// A client that resets its connection while a server is being connected, or while it waits to be tried again, is
// noticed long before that ends. One that has sent EOF waits for its answer.
func TestClientGoesBeforeItHasAServer(t *testing.T) {
	for name, server := range map[string]func(*testing.T) net.Listener{"connecting": silent, "waiting": refusing} {
		t.Run(name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				const clients, half = 20, 5
				p := start(t, ring, Backend{ConnectTimeout: time.Hour, Set: func(s *config.Backend) {
					s.Retries, s.RetryDelay = 3, time.Hour
				}}, server(t))
				for range half {
					c := dialAs(t, p, 0)
					_ = c.CloseWrite()
				}
				var leave []*net.TCPConn
				for range clients {
					leave = append(leave, dialAs(t, p, 1))
				}
				waitFor(t, "all are accepted", func() bool { return p.Stats().Listeners[0].Connections == clients+half })
				for _, c := range leave {
					_ = c.SetLinger(0)
					c.Close()
				}
				waitFor(t, "the ends are counted", func() bool { return endedBy(p, reasonConnectClientReset) == clients })
				waitFor(t, "the connections are gone", func() bool { return p.Stats().Servers[0].Connections == half })
				if n := p.Stats().Listeners[0].Connections; n != half {
					t.Errorf("%d connections are left, want %d", n, half)
				}
			})
		})
	}
}

// A connection whose server was connected late has everything of its client, and what ends it afterwards is counted as
// such.
func TestWatchEndsWithTheServer(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		dead, ln := silent(t), listen(t)
		cfg := setupOf(Backend{ConnectTimeout: 3 * watchAfter, Set: func(s *config.Backend) { s.Retries = 1 }}, dead, ln)
		cfg.Backends[0].Servers[1].Priority = 1
		p := cfg.on(ring).run(t)
		c := dialAs(t, p, 7)
		s := expectName(t, ln, 7)
		pass(t, c, s.(*net.TCPConn))
		pass(t, s.(*net.TCPConn), c)
		_ = c.SetLinger(0)
		c.Close()
		expectReset(t, s.(*net.TCPConn))
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonClientReset) == 1 })
	})
}

// A client of a unix socket that has closed it is not gone: what it has sent is for the server.
func TestClosedUnixClientIsServed(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		dead, ln := silent(t), listen(t)
		cfg := setupOf(Backend{ConnectTimeout: 3 * watchAfter, Set: func(s *config.Backend) { s.Retries = 1 }}, dead, ln)
		cfg.Backends[0].Servers[1].Priority = 1
		path := filepath.Join(t.TempDir(), "socket")
		cfg.Listeners[0].Set = func(l *plan.Listener) { l.Network, l.Path = "unix", path }
		cfg.on(ring).run(t)
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("logged"))
		c.Close()
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, err := io.ReadAll(s); err != nil || string(got) != "logged" {
			t.Errorf("the server has received %q, %v", got, err)
		}
	})
}
