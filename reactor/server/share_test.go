//go:build linux

package server_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/reactor/server"
)

// An address that another server has is an error, which is that of package net and is reported once, on one loop and on
// several; unless both share it on purpose.
func TestAddressInUse(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, loops := range []int{1, 4} {
			cfg := server.Config{}
			cfg.Reactor.Loops = loops
			r := serve(t, kind, cfg, &hooks{data: echo})
			cfg.Addr = netip.MustParseAddrPort(r.addr.String())
			cfg.Reactor.Loop.Ring = kind
			other := func(cfg server.Config) error {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				cfg.Ready = func(net.Addr) { cancel() }
				return server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return &hooks{} })
			}
			_, want := net.Listen("tcp", r.addr.String())
			if err := other(cfg); err == nil || want == nil || err.Error() != want.Error() ||
				!errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%d loops: %v, want once: %v", loops, err, want)
			}
			listen := reactor.ListenConfig{Addr: cfg.Addr}
			err := netconn.Serve(context.Background(), cfg.Reactor, listen, func(net.Listener) error { return nil })
			if err == nil || err.Error() != want.Error() {
				t.Errorf("netconn on %d loops: %v, want %v", loops, err, want)
			}
			r.end()
			cfg.SharePort = true
			r = serve(t, kind, cfg, &hooks{data: echo})
			if err := other(cfg); err != nil {
				t.Errorf("%d loops, shared: %v", loops, err)
			}
			r.end()
		}
	})
}

// All loops of a server, and of a listener, have their own sockets on the address.
func TestLoopsShareTheAddress(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		seen := make(chan *reactor.Loop, 1)
		cfg := server.Config{}
		cfg.Reactor.Loops = 3
		r := serve(t, kind, cfg, &hooks{open: func(c *server.Conn) { seen <- c.Loop() }})
		loops := map[*reactor.Loop]bool{}
		for len(loops) < 3 { // the kernel spreads them by a hash
			c := r.connect()
			loops[<-seen] = true
			c.Close()
		}
		r.end()
	})
}
