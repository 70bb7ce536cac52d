package reactortest

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/internal/simring"
)

// NewMachine makes another machine of the same network: with its own loops, peers, files, processes, descriptors and
// limits, and with the addresses [Machine.Addr] and [Machine.Addr6]. A network has at most 200 machines.
func (m *Machine) NewMachine(name string) *Machine {
	m.use()
	if len(m.r.machines) == 200 {
		panic("reactortest: NewMachine: a network has at most 200 machines")
	}
	return newMachine(m.r, m.k.NewMachine(name), name)
}

// PowerOff ends all that runs on the machine, as when it loses its power: loops, peers and processes stop where they
// are, and nothing is closed, so that other machines learn nothing. Packets to it and from it are lost, those under way
// too, until [Machine.PowerOn]. Its files stay as they were written. A peer of another machine calls it.
//
// Nothing is asserted of its loops in the end, and they never end: [Peer.UntilEnded] waits for ever. Their tasks stay
// parked, so that a check for goroutines that are left finds them.
func (m *Machine) PowerOff() {
	m.use()
	switch t := m.k.Running(); {
	case t == nil:
		panic("reactortest: PowerOff before the run: call it in a peer")
	case t.Machine() == m.k:
		panic(fmt.Sprintf("reactortest: PowerOff of %s on itself: call it in a peer of another machine", m.name))
	}
	m.k.PowerOff()
	m.r.loops = slices.DeleteFunc(m.r.loops, func(l machineLoop) bool { return l.m == m })
	for _, p := range m.r.threads {
		if p.m == m && !p.over {
			p.leave()
		}
	}
}

// PowerOn lets a machine that has lost its power answer again. Nothing runs on it until [Machine.Loop] or
// [Machine.Peer] makes something that does. What arrives on connections of before is answered by a RST.
func (m *Machine) PowerOn() {
	m.use()
	m.k.PowerOn()
}

// Addr returns the machine's IPv4 address, 10.0.0.n. The machine has the loopback interface as well.
func (m *Machine) Addr() netip.Addr { return m.addr4 }

// Addr6 returns the machine's IPv6 address, fd00::n.
func (m *Machine) Addr6() netip.Addr { return m.addr6 }

// AddrPort returns the machine's IPv4 address with a port.
func (m *Machine) AddrPort(port uint16) netip.AddrPort { return netip.AddrPortFrom(m.addr4, port) }

// LinkConfig sets what happens to packets on a link. A link of the zero value takes no time and loses nothing.
type LinkConfig struct {
	Latency time.Duration // the least that a packet takes, one way
	Jitter  time.Duration // the most that it takes beyond that; packets stay in order

	Bandwidth int64 // bytes a second that each direction carries, one packet after the other; 0: any number

	// Probabilities, for each packet.
	Loss      float64 // it is lost; TCP then sends it again, after 200 ms at first and up to 120 s
	Duplicate float64 // a datagram arrives twice
	Reorder   float64 // a datagram arrives after later ones
}

// Link is the connection between two machines, in both directions or in one. Its methods may be called at any time.
type Link struct{ ways []*simring.Link }

// Link returns the link to another machine, in both directions.
func (m *Machine) Link(to *Machine) Link {
	there, back := m.LinkTo(to), to.LinkTo(m)
	return Link{append(there.ways, back.ways...)}
}

// LinkTo returns the direction of the link from m to another machine.
func (m *Machine) LinkTo(to *Machine) Link {
	m.use()
	switch {
	case m == to:
		panic(fmt.Sprintf("reactortest: a link of %s to itself: the loopback interface has none", m.name))
	case m.r != to.r:
		panic(errOver)
	}
	return Link{[]*simring.Link{m.k.LinkTo(to.k)}}
}

// Set changes what happens to packets that are sent from now on.
func (l Link) Set(c LinkConfig) {
	for _, way := range l.ways {
		way.LinkOdds = simring.LinkOdds{
			Latency: c.Latency, Jitter: c.Jitter, Bandwidth: c.Bandwidth,
			Lost: c.Loss, Duplicate: c.Duplicate, Reordered: c.Reorder,
		}
	}
}

// Cut loses all packets, those under way too, until [Link.Heal]. Neither side notices: what waits for the other waits
// on. A sender on TCP tries again for about 15 minutes, and then fails with ETIMEDOUT; a connect after two minutes.
func (l Link) Cut() {
	for _, way := range l.ways {
		way.Cut()
	}
}

// Heal ends Cut.
func (l Link) Heal() {
	for _, way := range l.ways {
		way.Heal()
	}
}

// Reset resets the TCP connections over the link, on both sides, as a firewall that has lost its state does.
func (l Link) Reset() { l.ways[0].Reset() }
