package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// startMany runs a proxy with several listeners in front of one server, and with so many pairs of descriptors.
func startMany(t *testing.T, ring reactor.RingKind, loops, listeners, pairs int, ln net.Listener) *Proxy {
	t.Helper()
	cfg := setupOf(Backend{}, ln)
	cfg.Ring, cfg.Loops, cfg.pairs = ring, loops, pairs
	for i := 1; i < listeners; i++ {
		l := cfg.Listeners[0]
		l.Name = fmt.Sprint("l", i)
		cfg.Listeners = append(cfg.Listeners, l)
	}
	return cfg.run(t)
}

// echo answers every connection of a listener with what it sends.
func echo(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(c, c)
			c.Close()
		}()
	}
}

// caller is a client that has sent a byte, and waits for the echo.
func caller(t *testing.T, p *Proxy, listener int) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.Addrs()[listener].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	return c
}

func expectServed(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// A listener serves as many connections as it may have, on whichever loop the kernel queues them.
func TestMaxConnectionsOfAllLoops(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const limit, rounds = 4, 10
		ln := listen(t)
		go echo(ln)
		cfg := setupOf(Backend{}, ln)
		cfg.Ring, cfg.Loops, cfg.Listeners[0].MaxConnections = ring, 3, limit
		p := cfg.run(t)
		for range rounds { // there is room again while further connections wait
			var clients []net.Conn
			for range limit {
				clients = append(clients, caller(t, p, 0))
			}
			for _, c := range clients {
				expectServed(t, c)
			}
			for _, c := range clients {
				c.Close()
			}
		}
	})
}

// A busy listener gets what the others do not need, and they get what is guaranteed to them.
func TestOneBudget(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const listeners, pairs = 8, 32 // 2 for each, 16 for all
		ln := listen(t)
		go echo(ln)
		p := startMany(t, ring, 2, listeners, pairs, ln)
		var busy []net.Conn
		for range pairs - 2*(listeners-1) {
			busy = append(busy, caller(t, p, 0))
		}
		for _, c := range busy {
			expectServed(t, c)
		}
		waits := caller(t, p, 0)
		for i := 1; i < listeners; i++ {
			for range 2 {
				expectServed(t, caller(t, p, i))
			}
		}
		if n := p.Stats().Listeners[0].Connections; n != int64(len(busy)) {
			t.Errorf("%d connections are served, want %d", n, len(busy))
		}
		other := caller(t, p, 1)
		for _, c := range []net.Conn{waits, other} { // each of them gets what a busy one gives back
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Fatal("served beyond the budget")
			}
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		}
		busy[0].Close()
		busy[1].Close()
		expectServed(t, waits)
		expectServed(t, other)
	})
}

// Every connection that waits is served, on whichever loop room is given back.
func TestRoomIsNeverLost(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const listeners, pairs, clients, rounds = 3, 6, 12, 25
		ln := listen(t)
		go echo(ln)
		p := startMany(t, ring, 3, listeners, pairs, ln)
		var wg sync.WaitGroup
		for n := range clients {
			wg.Go(func() {
				for range rounds {
					c, err := net.Dial("tcp", p.Addrs()[n%listeners].String())
					if err != nil {
						t.Error(err)
						return
					}
					_ = c.SetDeadline(time.Now().Add(20 * time.Second))
					_, _ = c.Write([]byte{1})
					if _, err := c.Read(make([]byte, 1)); err != nil {
						t.Error(err)
					}
					c.Close()
				}
			})
		}
		wg.Wait()
		deadline := time.Now().Add(10 * time.Second)
		for ; ; time.Sleep(time.Millisecond) {
			all, free := p.budget.Pairs()
			if free == all {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d pairs are free, want %d", free, all)
			}
		}
	})
}

// While there is no room, connections that arrive cost next to nothing. See TestSimulationOfNoSpinWithoutRoom.
func TestNoSpinWithoutRoom(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		p := startMany(t, ring, 2, 2, 2, ln)
		expectServed(t, caller(t, p, 0))
		for range 20 {
			caller(t, p, 0)
		}
		turns := func() (n uint64) {
			for _, l := range p.Loops() {
				n += l.Stats().Enters
			}
			return n
		}
		before := turns()
		time.Sleep(300 * time.Millisecond)
		if n := turns() - before; n > 200 {
			t.Errorf("the rings were entered %d times in 300 ms", n)
		}
	})
}

// As many connections are open as all loops together may have. The others are served one after another.
func TestMaxConnections(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, limit := range []int{1, 3, 5} {
			t.Run(fmt.Sprint(limit), func(t *testing.T) { serveInTurn(t, ring, limit) })
		}
	})
}

func serveInTurn(t *testing.T, ring reactor.RingKind, limit int) {
	ln := listen(t)
	cfg := setupOf(Backend{}, ln)
	cfg.Ring, cfg.Loops, cfg.Listeners[0].MaxConnections = ring, 2, limit
	p := cfg.run(t)
	const clients = 40 // more than enough for the share of each loop
	for range clients {
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	var current int64
	read := func() int64 { return p.Stats().Listeners[0].Connections }
	deadline := time.Now().Add(10 * time.Second)
	for ; current < int64(limit) && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		current = read()
	}
	if current != int64(limit) {
		t.Errorf("%d connections are open, want %d", current, limit)
	}
	_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	for n := range clients {
		s, err := ln.Accept()
		if err != nil {
			t.Fatalf("%d of %d were served: %v", n, clients, err)
		}
		if current := read(); current > int64(limit) {
			t.Errorf("%d connections are open, want at most %d", current, limit)
		}
		_ = s.(*net.TCPConn).SetLinger(0) // a reset ends both sides immediately
		_ = s.Close()
	}
}
