package proxy

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor"
)

func list(t *testing.T, p *Proxy, f Filter, limit int) []Connection {
	t.Helper()
	all, err := p.Connections(context.Background(), f, limit)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		var clients []*net.TCPConn
		for range 10 {
			c, s := pair(t, p, ln)
			swap(t, c, s, 100)
			clients = append(clients, c)
		}
		_ = clients[3].CloseWrite()
		all := list(t, p, Filter{}, 0)
		if len(all) != len(clients) {
			t.Fatalf("%d connections, want %d", len(all), len(clients))
		}
		ids, phases, server := map[uint64]bool{}, map[string]int{}, ln.Addr().String()
		for _, c := range all {
			ids[c.ID] = true
			if c.Listener != "l" || c.Backend != "b" || c.Server != server || c.FromClient != 100 || c.FromServer != 100 ||
				c.Age <= 0 || c.Idle > c.Age {
				t.Errorf("%+v", c)
			}
		}
		waitFor(t, "a connection is half-closed", func() bool {
			clear(phases)
			for _, c := range list(t, p, Filter{}, 0) {
				phases[c.Phase]++
			}
			return phases["data"] == 9 && phases["last_data"] == 1
		})
		if len(ids) != len(all) {
			t.Errorf("%d ids of %d connections", len(ids), len(all))
		}
		own := clients[5].LocalAddr().(*net.TCPAddr).AddrPort()
		found := netip.AddrPort{}
		for _, c := range all {
			if c.Client == own {
				found = c.Client
			}
		}
		if found != own {
			t.Errorf("no connection is from %v", own)
		}
		loopback, other := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")
		for _, test := range []struct {
			f    Filter
			want int
		}{
			{Filter{ID: all[4].ID}, 1}, {Filter{ID: 1 << 60}, 0},
			{Filter{Listener: "l", Backend: "b", Server: server, Client: loopback}, 10},
			{Filter{Listener: "x"}, 0}, {Filter{Backend: "x"}, 0}, {Filter{Server: "x"}, 0}, {Filter{Client: other}, 0},
			{Filter{OlderThan: time.Hour}, 0}, {Filter{OlderThan: time.Nanosecond}, 10},
			{Filter{IdleFor: time.Hour}, 0}, {Filter{IdleFor: time.Nanosecond}, 10},
		} {
			if got := list(t, p, test.f, 0); len(got) != test.want {
				t.Errorf("%+v: %d connections, want %d", test.f, len(got), test.want)
			}
		}
		if n := len(list(t, p, Filter{}, 4)); n != 4 {
			t.Errorf("%d connections, want 4 at most", n)
		}
	})
}

func TestCloseConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		first, _ := pair(t, p, ln)
		stays, server := pair(t, p, ln)
		own := first.LocalAddr().(*net.TCPAddr).AddrPort()
		for _, c := range list(t, p, Filter{}, 0) {
			if c.Client != own {
				continue
			}
			if n, err := p.CloseConnections(context.Background(), Filter{ID: c.ID}); n != 1 || err != nil {
				t.Errorf("%d were closed, %v", n, err)
			}
		}
		expectReset(t, first)
		waitFor(t, "the end is counted", func() bool { return endedBy(p, reasonAdmin) == 1 })
		swap(t, stays, server, 10)
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.CloseConnections(done, Filter{}); err == nil {
			t.Error("the context was done")
		}
		_ = p.Close()
		if all := list(t, p, Filter{}, 0); len(all) != 0 {
			t.Errorf("%d connections after the end", len(all))
		}
	})
}

// More connections than a walk visits in a turn, some of which end meanwhile.
func TestWalkOverManyConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		const n = 3 * walkBatch
		var clients []*net.TCPConn
		for range n {
			c, _ := pair(t, p, ln)
			clients = append(clients, c)
		}
		go func() {
			for _, c := range clients[:n/2] {
				_ = c.SetLinger(0)
				c.Close()
			}
		}()
		for range 10 {
			if got := len(list(t, p, Filter{}, 0)); got < n/2 || got > n {
				t.Errorf("%d connections", got)
			}
		}
		if _, err := p.CloseConnections(context.Background(), Filter{}); err != nil {
			t.Error(err)
		}
		for _, c := range clients[n/2:] {
			expectReset(t, c)
		}
		waitFor(t, "none is left", func() bool { return len(list(t, p, Filter{}, 0)) == 0 })
	})
}

// When a server goes down, its connections are reset, and those of others are left alone.
func TestServerDown(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		t.Parallel() // it waits
		lns := []net.Listener{listen(t), listen(t)}
		p := start(t, ring, Backend{}, lns...)
		accept := func(ln net.Listener) <-chan net.Conn {
			accepted := make(chan net.Conn, 1)
			go func() {
				c, _ := ln.Accept()
				accepted <- c
			}()
			return accepted
		}
		a, b := accept(lns[0]), accept(lns[1])
		var clients []*net.TCPConn
		for a != nil || b != nil {
			clients = append(clients, dialAs(t, p, 0))
			select {
			case s := <-a:
				t.Cleanup(func() { s.Close() })
				a = nil
			case s := <-b:
				t.Cleanup(func() { s.Close() })
				b = nil
			case <-time.After(time.Second):
			}
		}
		before := list(t, p, Filter{}, 0)
		down := lns[0].Addr().String()
		for _, s := range p.table.Load().backends["b"].Group().Servers {
			if s.Name() == down {
				p.closeServer(s)
			}
		}
		want := 0
		for _, c := range before {
			if c.Server == down {
				want++
			}
		}
		waitFor(t, "they are closed", func() bool { return int(endedBy(p, reasonServerDown)) == want })
		if left := list(t, p, Filter{}, 0); want == 0 || len(left) != len(before)-want {
			t.Errorf("%d of %d connections are left, of which %d were to the server", len(left), len(before), want)
		}
		_ = clients
	})
}

// Pages of a list have every connection once, the newest of each loop first.
func TestPagesOfConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		for range 11 {
			pair(t, p, ln)
		}
		waitFor(t, "all have a server", func() bool {
			return len(list(t, p, Filter{Address: serveraddr.IP(ln.Addr().(*net.TCPAddr).AddrPort())}, 0)) == 11
		})
		var before uint64
		for _, want := range []int{4, 4, 3, 0} {
			page := list(t, p, Filter{Before: before}, 4)
			if len(page) != want {
				t.Fatalf("%d connections before %d, want %d", len(page), before, want)
			}
			for _, c := range page {
				if before != 0 && c.ID >= before {
					t.Errorf("id %d behind %d", c.ID, before)
				}
				before = c.ID
			}
		}
		if n := len(list(t, p, Filter{Address: serveraddr.MustParse("192.0.2.1:1")}, 0)); n != 0 {
			t.Errorf("%d connections to another address", n)
		}
	})
}

// Requests that come when the loops have ended disturb each other no more than those before.
func TestConnectionsOfAProxyThatHasEnded(t *testing.T) {
	p := start(t, reactor.Epoll, Backend{}, listen(t))
	_ = p.Close()
	var wg sync.WaitGroup
	for range 8 { // the race detector looks at them
		wg.Go(func() {
			if all, err := p.Connections(context.Background(), Filter{}, 0); len(all) != 0 || err != nil {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
	wg.Wait()
}
