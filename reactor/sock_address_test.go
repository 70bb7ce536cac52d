//go:build linux

package reactor_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

func ipAddress(t testing.TB, s string) reactor.Address {
	t.Helper()
	a, err := reactor.IPAddress(netip.MustParseAddrPort(s))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func unixAddress(t testing.TB, name string) reactor.Address {
	t.Helper()
	a, err := reactor.UnixAddress(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAddressOfIP(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7:80":            "192.0.2.7:80",
		"[2001:db8::1]:65535":     "[2001:db8::1]:65535",
		"[fe80::1%7]:1":           "[fe80::1%7]:1",
		"[fe80::1%lo]:1":          "[fe80::1%1]:1",
		"[::ffff:192.0.2.7]:8080": "192.0.2.7:8080",
	} {
		a := ipAddress(t, in)
		if got := a.String(); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
		if a != ipAddress(t, in) {
			t.Errorf("%s is not equal to itself", in)
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
			b, err := reactor.NetAddress(a.NetAddr(kind))
			if err != nil || b.String() != want {
				t.Errorf("%s by way of %T is %s, %v", in, a.NetAddr(kind), b, err)
			}
		}
	}
	if _, err := reactor.IPAddress(netip.MustParseAddrPort("[fe80::1%nowhere]:1")); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("an unknown zone: %v", err)
	}
	if _, err := reactor.IPAddress(netip.AddrPort{}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no address: %v", err)
	}
	if family := ipAddress(t, "[::1]:1").Family(); family != unix.AF_INET6 {
		t.Errorf("family %d", family)
	}
}

func TestAddressOfUnixSocket(t *testing.T) {
	long := strings.Repeat("x", 107)
	for _, name := range []string{"/run/x", "relative", "@abstract", "@", long, "@" + long[1:], ""} {
		a := unixAddress(t, name)
		if a.Name() != name || a.String() != name || a.Family() != unix.AF_UNIX {
			t.Errorf("%q is %q of family %d", name, a, a.Family())
		}
		for kind, network := range map[int]string{
			unix.SOCK_STREAM: "unix", unix.SOCK_DGRAM: "unixgram", unix.SOCK_SEQPACKET: "unixpacket",
		} {
			if got := a.NetAddr(kind); got.Network() != network || got.String() != name {
				t.Errorf("%q is %s %s, want %s", name, got.Network(), got, network)
			}
		}
	}
	if got := unixAddress(t, "\x00by\x00tes").Name(); got != "@by\x00tes" {
		t.Errorf("an abstract name with a zero byte is %q", got)
	}
	if _, err := reactor.UnixAddress(long + "x"); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a long name: %v", err)
	}
}

func TestNoAddress(t *testing.T) {
	var none reactor.Address
	if !none.IsZero() || none.String() != "" || none.Family() != 0 ||
		none.NetAddr(unix.SOCK_STREAM) != nil || none.AddrPort().IsValid() {
		t.Errorf("%+v", none)
	}
	if _, err := reactor.NetAddress(&net.IPNet{}); !errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Errorf("a network: %v", err)
	}
}

// Every type of socket knows its address and that of its peer.
func TestAddressesOfSockets(t *testing.T) {
	r := run(t, reactor.LoopConfig{Ring: reactor.Epoll})
	defer r.end()
	dir := t.TempDir()
	for i, c := range []struct {
		kind  int
		where reactor.Address
	}{
		{unix.SOCK_STREAM, ipAddress(t, "127.0.0.1:0")},
		{unix.SOCK_STREAM, ipAddress(t, "[::1]:0")},
		{unix.SOCK_STREAM, unixAddress(t, dir+"/stream")},
		{unix.SOCK_SEQPACKET, unixAddress(t, dir+"/seqpacket")},
		{unix.SOCK_STREAM, unixAddress(t, fmt.Sprintf("@%s/abstract", dir))},
		{unix.SOCK_SEQPACKET, unixAddress(t, "")},
	} {
		var ln, client reactor.Socket
		if err := ln.OpenListener(r.Loop, reactor.ListenConfig{Address: c.where, Type: c.kind}); err != nil {
			if c.where.Family() == unix.AF_INET6 && errors.Is(err, syscall.EADDRNOTAVAIL) {
				continue // a machine without IPv6
			}
			t.Fatalf("%d: %v", i, err)
		}
		at, err := ln.LocalAddress()
		if err != nil || at.Family() != c.where.Family() || at.IsZero() {
			t.Errorf("%v is %v, %v", c.where, at, err)
		}
		if name := c.where.Name(); name != "" && at != c.where {
			t.Errorf("%q listens at %q", name, at)
		}
		done := newResult()
		op := new(reactor.DialOp)
		if err := client.Open(r.Loop, at.Family(), c.kind, 0); err != nil {
			t.Fatal(err)
		}
		r.do(func() {
			client.DialTo(at).Connect(op, sinkOf[struct{}](t, done, nil))
			op.Start()
		})
		done.expect(t, "{}")
		if peer, err := client.PeerAddress(); err != nil || peer != at {
			t.Errorf("connected to %v (%v), want %v", peer, err, at)
		}
		if family, err := client.Family(); err != nil || family != at.Family() {
			t.Errorf("family %d, %v", family, err)
		}
		if kind, err := client.Type(); err != nil || kind != c.kind {
			t.Errorf("kind %d, %v", kind, err)
		}
		r.close(&client, &ln)
	}
}

func TestDialToAnUnknownZone(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var s reactor.Socket
		if err := s.Open(r.Loop, unix.AF_INET6, unix.SOCK_STREAM, 0); err != nil {
			t.Skip(err)
		}
		failed := make(chan error, 1)
		op := new(reactor.DialOp)
		r.do(func() {
			s.Dial(netip.MustParseAddrPort("[fe80::1%nowhere]:1")).Connect(op,
				&sink[struct{}]{t: t, failed: func(err error) { failed <- err }})
			op.Start()
		})
		if err := <-failed; !errors.Is(err, syscall.ENODEV) {
			t.Errorf("%v", err)
		}
		r.close(&s)
		r.end()
	})
}

func TestExclusiveListeners(t *testing.T) {
	r := run(t, reactor.LoopConfig{Ring: reactor.Epoll})
	defer r.end()
	var a, b reactor.Socket
	cfg := reactor.ListenConfig{Address: ipAddress(t, "127.0.0.1:0"), Exclusive: true}
	if err := a.OpenListener(r.Loop, cfg); err != nil {
		t.Fatal(err)
	}
	at, _ := a.LocalAddress()
	for _, exclusive := range []bool{false, true} {
		cfg := reactor.ListenConfig{Address: at, Exclusive: exclusive}
		if err := b.OpenListener(r.Loop, cfg); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("exclusive %v: %v", exclusive, err)
		}
	}
	if err := b.OpenListener(r.Loop, reactor.ListenConfig{}); err == nil {
		t.Error("listens at no address")
	}
	refused := errors.New("refused")
	cfg = reactor.ListenConfig{
		Address: ipAddress(t, "127.0.0.1:0"),
		Options: func(*reactor.Socket) error { return refused },
	}
	if err := b.OpenListener(r.Loop, cfg); err != refused {
		t.Errorf("options refused: %v", err)
	}
	r.close(&a)
}

// The addresses of a connection are asked for without an allocation.
func TestAddressesDoNotAllocate(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		var listener reactor.Socket
		r.do(func() {
			cfg := reactor.ListenConfig{Address: ipAddress(t, "127.0.0.1:0")}
			if err := listener.OpenListener(r.Loop, cfg); err != nil {
				t.Fatal(err)
			}
		})
		at, err := listener.LocalAddr()
		if err != nil {
			t.Fatal(err)
		}
		peer, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		s := new(reactor.Socket)
		r.do(func() {
			fd, err := listener.TryAccept()
			if err != nil {
				t.Error(err)
				return
			}
			s.Init(r.Loop, fd)
			allocs := testing.AllocsPerRun(100, func() {
				remote, err := s.PeerAddr()
				local, e := s.LocalAddr()
				if err = errors.Join(err, e); err != nil || !remote.IsValid() || local != at {
					t.Errorf("%v, %v, %v", remote, local, err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
		r.close(s)
		r.close(&listener)
		r.end()
	})
}
