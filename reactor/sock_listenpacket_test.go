//go:build linux

package reactor_test

import (
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Several loops have sockets for datagrams with one address, unless one of them is exclusive.
func TestListenPacket(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		defer r.end()
		var a, b, alone, local reactor.Socket
		cfg := reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0")}
		if err := a.ListenPacket(r.Loop, cfg); err != nil {
			t.Fatal(err)
		}
		var err error
		if cfg.Addr, err = a.LocalAddr(); err != nil {
			t.Fatal(err)
		}
		if err := b.ListenPacket(r.Loop, cfg); err != nil {
			t.Error(err)
		}
		before := descriptors()
		cfg.Exclusive = true
		if err := alone.ListenPacket(r.Loop, cfg); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("an exclusive socket beside others: %v", err)
		}
		if err := alone.ListenPacket(r.Loop, reactor.ListenConfig{}); err == nil {
			t.Error("a socket without an address")
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors were open before and %d are now", before, after)
		}
		name, err := reactor.UnixAddress("@" + t.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := local.ListenPacket(r.Loop, reactor.ListenConfig{Address: name}); err != nil {
			t.Fatal(err)
		}
		if kind, err := local.Type(); err != nil || kind != unix.SOCK_DGRAM {
			t.Errorf("the type is %d, %v", kind, err)
		}
		r.close(&a, &b, &local)
	})
}
