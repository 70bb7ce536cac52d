package proxy

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

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
	cfg := config(Backend{}, ln)
	cfg.Ring, cfg.Loops, cfg.Listeners[0].MaxConnections = ring, 2, limit
	p, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	const clients = 40 // more than enough for the share of each loop
	for range clients {
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	var current int64
	read := func() int64 { return p.Stats().Listeners[0].Current }
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
