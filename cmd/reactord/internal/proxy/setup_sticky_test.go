package proxy

import (
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// tellingName is a server that tells each client its name.
func tellingName(t *testing.T, at string, name byte) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte{name})
			_ = c.Close()
		}
	}()
	return ln
}

// servedBy returns the name of the server that a client gets.
func servedBy(t *testing.T, p *Proxy, from string) byte {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 1)
	if _, err := c.Read(b); err != nil {
		t.Fatal(err)
	}
	return b[0]
}

// expectSticky makes several connections of a client, and expects all at one server.
func expectSticky(t *testing.T, p *Proxy, from string, want byte) {
	t.Helper()
	for range 8 {
		if got := servedBy(t, p, from); got != want {
			t.Fatalf("%s gets server %c, and was at %c", from, got, want)
		}
	}
}

func stickyFor(most int) func(*config.Backend) {
	return func(b *config.Backend) {
		b.Balance.Policy = config.RoundRobin
		b.Balance.Sticky = config.Sticky{Time: time.Hour, Max: most}
	}
}

// A client stays at its server: on all loops, when another server joins, when its own fails and comes back, through
// reloads, and in the next process. Others beside it are spread by the policy.
func TestSticky(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		a, b := tellingName(t, "127.0.0.1:0", 'a'), tellingName(t, "127.0.0.1:0", 'b')
		f := setupOf(Backend{Set: stickyFor(64)}, a, b)
		f.Ring, f.Loops = ring, 2
		p := f.run(t)
		const good = "127.0.0.1"
		its := servedBy(t, p, good)
		others := map[byte]bool{}
		for _, from := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"} {
			server := servedBy(t, p, from)
			others[server] = true
			expectSticky(t, p, from, server)
		}
		expectSticky(t, p, good, its)
		if len(others) != 2 {
			t.Errorf("the policy spreads others over %v", others)
		}
		if n := p.Stats().Backends[0].Sticky; n != 7 {
			t.Errorf("%d sources are remembered, want 7", n)
		}

		c := tellingName(t, "127.0.0.1:0", 'c')
		f = setupOf(Backend{Set: stickyFor(256)}, a, b, c) // a server more, and a larger table
		f.Ring, f.Loops = ring, 2
		f.Listeners[0].Address = p.Addrs()[0]
		p.change(t, f)
		expectSticky(t, p, good, its)

		failing := a
		if its == 'b' {
			failing = b
		}
		at := failing.Addr().String()
		failing.Close()
		moved := servedBy(t, p, good)
		if moved == its {
			t.Fatal("a server that is gone serves")
		}
		expectSticky(t, p, good, moved)
		tellingName(t, at, its) // it comes back
		expectSticky(t, p, good, moved)
		client := Client{Listener: "l", Address: p.Addrs()[0]}
		x := explained(t, p, client)
		if x.Backends[0].Sticky == "" {
			t.Error("the explanation has no server that the client stays at")
		}
		for _, s := range x.Backends[0].Servers {
			if s.Chosen != (s.Address == x.Backends[0].Sticky) {
				t.Errorf("%+v, and the client stays at %s", s, x.Backends[0].Sticky)
			}
		}

		f.Sticky = p.Sticky()
		f.Listeners[0].Address = freePort(t)
		next := f.run(t)
		again := next.Sticky() // before any client has come
		if len(again) != 7 || len(f.Sticky) != 7 {
			t.Errorf("%d of %d sources are handed on", len(again), len(f.Sticky))
		}
		expectSticky(t, next, good, moved)
	})
}

// A client whose server is full gets another one, and is back when there is room.
func TestStickyServerIsFull(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		first, second := listen(t), listen(t)
		f := setupOf(Backend{Set: stickyFor(64), MaxConnections: 1}, first, second)
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		c := dialProxy(t, p)
		server := func() string {
			all := list(t, p, Filter{}, 0)
			return all[0].Server
		}
		waitFor(t, "it has a server", func() bool { return len(list(t, p, Filter{}, 0)) == 1 && server() != "" })
		its := server()
		other := dialProxy(t, p)
		waitFor(t, "the next one has the other server", func() bool {
			return len(list(t, p, Filter{}, 0)) == 2 && server() != "" && server() != its
		})
		resetConn(c)
		resetConn(other)
		awaitOpen(t, p, 0)
		dialProxy(t, p)
		waitFor(t, "it is back at its server", func() bool { return len(list(t, p, Filter{}, 0)) == 1 && server() == its })
	})
}
