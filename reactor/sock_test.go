//go:build linux

package reactor_test

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// The methods of a socket that do not use the ring, over IPv4 and IPv6.
func TestSocket(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, host := range []string{"127.0.0.1", "::1"} {
			r := run(t, reactor.LoopConfig{Ring: kind})
			var ln, client, server reactor.Socket
			addr := netip.AddrPortFrom(netip.MustParseAddr(host), 0)
			if err := ln.OpenListener(r.Loop, reactor.ListenConfig{Addr: addr}); err != nil {
				r.end()
				t.Skip(err)
			}
			addr, err := ln.LocalAddr()
			if err != nil || addr.Addr() != netip.MustParseAddr(host) || addr.Port() == 0 {
				t.Fatalf("listening on %v: %v", addr, err)
			}
			var second reactor.Socket // SO_REUSEPORT
			if err := second.OpenListener(r.Loop, reactor.ListenConfig{Addr: addr}); err != nil {
				t.Error(err)
			}
			r.close(&second)
			family := unix.AF_INET
			if addr.Addr().Is6() {
				family = unix.AF_INET6
			}
			if err := client.Open(r.Loop, family, unix.SOCK_STREAM, 0); err != nil {
				t.Fatal(err)
			}
			connected, accepted := newResult(), newResult()
			var connect reactor.DialOp
			var accept reactor.AcceptOp
			r.do(func() {
				in := sinkOf[int](t, accepted, nil)
				in.value = func(fd int) {
					server.Init(r.Loop, fd)
					accepted <- "accepted"
				}
				ln.Accept().Connect(&accept, in)
				accept.Start()
				client.Dial(addr).Connect(&connect, sinkOf[struct{}](t, connected, nil))
				connect.Start()
			})
			connected.expect(t, "{}")
			accepted.expect(t, "accepted")
			r.do(func() { checkAddresses(t, &client, &server, addr) })
			r.do(func() {
				if err := client.SetNoDelay(true); err != nil {
					t.Error(err)
				}
				if v, err := unix.GetsockoptInt(client.Fd(), unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || v != 1 {
					t.Errorf("TCP_NODELAY: %d, %v", v, err)
				}
				if n, err := client.Unacked(); err != nil || n != 0 {
					t.Errorf("unacknowledged: %d, %v", n, err)
				}
				if err := client.CloseWrite(); err != nil {
					t.Error(err)
				}
			})
			ended := newResult()
			var recv reactor.RecvOp
			r.do(func() {
				server.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, ended, nil))
				recv.Start()
			})
			ended.expect(t, "0")
			r.do(func() {
				client.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, ended, nil))
				recv.Start()
				if err := server.SetAbort(); err != nil {
					t.Error(err)
				}
			})
			r.close(&server)
			ended.expect(t, "error: connection reset by peer")
			r.close(&client, &ln)
			if err := client.CloseWrite(); err == nil {
				t.Error("CloseWrite of a closed socket")
			}
			r.end()
		}
	})
}

func checkAddresses(t *testing.T, client, server *reactor.Socket, addr netip.AddrPort) {
	for _, s := range []*reactor.Socket{client, server} {
		local, err := s.LocalAddr()
		if err != nil {
			t.Error(err)
		}
		peer, err := s.PeerAddr()
		if err != nil {
			t.Error(err)
		}
		if s == client && peer != addr || s == server && local != addr || local == peer {
			t.Errorf("from %v to %v, listening on %v", local, peer, addr)
		}
	}
}

// OpenListener on an address that is not available leaves no descriptor open.
func TestListenFails(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		before := descriptors()
		var s reactor.Socket
		if err := s.OpenListener(r.Loop, reactor.ListenConfig{Addr: netip.MustParseAddrPort("192.0.2.1:1")}); err == nil {
			t.Error("listening on an address that is not of this machine")
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
		r.end()
	})
}
