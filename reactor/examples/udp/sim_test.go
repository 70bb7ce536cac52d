package main

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
	"github.com/reactord/reactord/reactor/reactortest"
)

// Clients of another machine get an answer in the end, although datagrams are lost, duplicated and reordered.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		addr := netip.AddrPortFrom(netip.IPv4Unspecified(), exampletest.SimulatedAddr.Port())
		for range 2 {
			m.Loop(reactor.LoopConfig{}, func(l *reactor.Loop) error { return serve(l, addr) })
		}
		other := m.NewMachine("client")
		for _, name := range []string{"one", "two"} {
			other.Peer(name, func(p *reactortest.Peer) { ask(t, p, m.AddrPort(addr.Port())) })
		}
	})
}

// ask asks for its own address until it is answered.
func ask(t *testing.T, p *reactortest.Peer, server netip.AddrPort) {
	c := p.DialPacket(server)
	buf := make([]byte, 512)
	for range 1000 {
		if _, err := c.Write(query("whoami.example.", dnsmessage.TypeA)); err != nil {
			p.Fatalf("%v", err)
		}
		_ = c.SetReadDeadline(p.Time().Add(time.Second))
		n, err := c.Read(buf)
		if err != nil {
			continue
		}
		if code, addrs := reply(t, buf[:n]); code != dnsmessage.RCodeSuccess ||
			!slices.Equal(addrs, []string{p.Machine().Addr().String()}) {
			p.Errorf("%v %v", code, addrs)
		}
		return
	}
	p.Errorf("no answer")
}
