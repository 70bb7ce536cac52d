package simring

import (
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// NewMachine makes another machine of the same network, with its own name, addresses and disk. Then only the addresses
// of machines and of the loopback interface can be bound or reached. It has the odds of k.
func (k *Kernel) NewMachine(name string, addrs ...netip.Addr) *Kernel {
	m := newKernel(k.world)
	m.Odds, m.name = k.Odds, name
	m.SetAddrs(addrs...)
	m.disk = newDisk(m)
	return m
}

// SetAddrs gives the machine its own addresses. Without any, every address is its own.
func (k *Kernel) SetAddrs(addrs ...netip.Addr) {
	k.addrs, k.own = addrs, map[netip.Addr]bool{}
	for _, a := range addrs {
		k.own[a] = true
	}
}

// Has reports whether an address was given to the machine.
func (k *Kernel) Has(a netip.Addr) bool { return k.own[a] }

// has reports whether an address is the machine's own.
func (k *Kernel) has(a netip.Addr) bool {
	return len(k.addrs) == 0 || a.IsLoopback() || k.own[a]
}

// route returns the machine that has an address, or nil.
func (k *Kernel) route(a netip.Addr) *Kernel {
	if k.has(a) {
		return k
	}
	for _, m := range k.machines {
		if m.own[a] {
			return m
		}
	}
	return nil
}

// source returns the machine's own address on the way to a; false if there is no way.
func (k *Kernel) source(a address) (netip.Addr, bool) {
	to := destination(a).Addr()
	if k.has(to) {
		return to, true
	}
	for _, own := range k.addrs {
		if own.Is4() == to.Is4() {
			return own, true
		}
	}
	return netip.Addr{}, false
}

// Link is the way of packets from one machine to another. Packets arrive in the order in which they were sent, unless
// they are reordered.
type Link struct {
	LinkOdds
	k, to   *Kernel // whose packets it carries, and who gets them
	cut     bool
	arrives int64  // when the latest packet does
	free    *int64 // when the latest packet is sent, of a link that has a bandwidth
	conns   []*tcp
	ended   int // when so many are in conns, those that are over are removed
}

// LinkOdds say what happens to packets on a link.
type LinkOdds struct {
	Latency   time.Duration // the least that a packet takes
	Jitter    time.Duration // the most that it takes beyond that
	Lost      float64       // probability that it is lost; a segment of TCP is then sent again
	Duplicate float64       // probability that a datagram arrives twice
	Reordered float64       // probability that a datagram arrives after later ones
	Bandwidth int64         // bytes a second that it carries, one packet after the other; 0: any
}

// LinkTo returns the link to another machine. At first it has no faults and takes no time.
func (k *Kernel) LinkTo(to *Kernel) *Link {
	if k.links[to] == nil {
		k.links[to] = &Link{k: k, to: to, free: new(int64)}
	}
	return k.links[to]
}

// Share lets two links share the bandwidth of one, as those to machines behind it do.
func (l *Link) Share(with *Link) { l.free = with.free }

// Cut loses all packets, those under way too, until Heal.
func (l *Link) Cut() { l.cut = true }

// Heal ends Cut.
func (l *Link) Heal() { l.cut = false }

// Reset resets the TCP connections whose packets the link carries: both sides, after a moment.
func (l *Link) Reset() {
	l.prune()
	for _, c := range l.conns {
		l.k.log("the connection %v–%v is reset by the network", c.local, c.remote)
		l.k.soon(c.onReset)
		l.k.soon(c.peer.onReset)
	}
}

// joins notes a connection whose packets the link carries.
func (l *Link) joins(c *tcp) {
	if len(l.conns) >= l.ended {
		l.prune()
		l.ended = 2*len(l.conns) + 16
	}
	l.conns = append(l.conns, c)
}

func (l *Link) prune() {
	l.conns = slices.DeleteFunc(l.conns, func(c *tcp) bool {
		over := func(s tcpState) bool { return s == reset || s == timeWait }
		return over(c.state) && over(c.peer.state)
	})
}

// loses reports whether a packet that should arrive is lost.
func (l *Link) loses() bool { return l.cut || l.k.off || l.to.off || l.k.chance(l.Lost) }

// takes draws how long a packet takes.
func (l *Link) takes() int64 {
	d := l.Latency
	if l.Jitter > 0 {
		d += l.k.upTo(l.Jitter)
	}
	return int64(d)
}

// sends returns how long it takes to send a packet with so many bytes behind those that are being sent.
func (l *Link) sends(bytes int) int64 {
	if l.Bandwidth <= 0 {
		return 0
	}
	const headers = 66 // of Ethernet, IP and TCP
	*l.free = max(*l.free, l.k.now) + int64(float64(bytes+headers)/float64(l.Bandwidth)*1e9)
	return *l.free - l.k.now
}

// carry calls f when a packet with so many bytes that is sent now arrives, or lost if it does not.
func (l *Link) carry(bytes int, f, lost func()) {
	l.arrives = max(l.arrives, l.k.now+l.sends(bytes)+int64(l.k.delay())+l.takes())
	l.k.coming(l.arrives, func() { l.arrive(f, lost) })
}

func (l *Link) arrive(f, lost func()) {
	if l.loses() {
		lost()
		return
	}
	f()
}

// carryDatagram carries a packet that is not sent again: it may be reordered or duplicated.
func (l *Link) carryDatagram(p packet, f func()) {
	lost := func() { l.k.log("a datagram from %v to %v is lost on the way", p.from, p.to) }
	if l.k.chance(l.Reordered) {
		at := l.k.now + l.takes() + int64(l.k.upTo(4*(l.Latency+l.Jitter+l.k.Odds.Latency)))
		l.k.coming(at, func() { l.arrive(f, lost) })
	} else {
		l.carry(len(p.data), f, lost)
	}
	if l.k.chance(l.Duplicate) {
		l.k.log("a datagram from %v to %v is duplicated on the way", p.from, p.to)
		l.carry(len(p.data), f, lost)
	}
}

// Retransmission as tcp(7) has it: tcp_syn_retries, tcp_retries2, and the bounds of the time in between.
const (
	synRetries   = 6
	retries      = 15
	leastTimeout = 200 * time.Millisecond
	mostTimeout  = 120 * time.Second
	noNeighbour  = 3 * time.Second // until ARP gives up
)

// retransmitAfter returns how long a segment that was lost waits: try counts its repetitions.
func retransmitAfter(try int) int64 { return int64(min(leastTimeout<<try, mostTimeout)) }

// transmit sends the next segment on its way to the peer.
func (e *tcp) transmit(try int) {
	if e.k == e.peer.k {
		e.k.soon(func() { e.arrive(0) })
		return
	}
	e.segment = min(e.out.len(), max(e.peer.k.Odds.Buffer-e.peer.in.len(), 0))
	e.k.LinkTo(e.peer.k).carry(e.segment, func() { e.arrive(try) }, func() { e.retransmit(try) })
}

// retransmit sends a segment again that was lost, and gives the connection up if that was tried often enough.
func (e *tcp) retransmit(try int) {
	e.k.log("a segment from %v to %v is lost", e.local, e.remote)
	e.k.at(e.k.now+retransmitAfter(try), func() {
		switch {
		case e.state == reset:
		case try == retries:
			e.k.log("%v gives up the connection to %v", e.local, e.remote)
			e.fail(unix.ETIMEDOUT)
		default:
			e.transmit(try + 1)
		}
	})
}

// resetPeer sends a RST. On a link it may be lost, and is not sent again. What the peer then sends is answered by
// another.
func (e *tcp) resetPeer() {
	if e.k == e.peer.k {
		e.k.soon(e.peer.onReset)
		return
	}
	e.k.LinkTo(e.peer.k).carry(0, e.peer.onReset, func() { e.k.log("a RST from %v to %v is lost", e.local, e.remote) })
}

// knock sends a connection request.
func (e *tcp) knock() {
	k := e.k
	switch to := k.route(e.remote.Addr()); {
	case to == nil:
		k.at(k.now+int64(noNeighbour), func() {
			if e.state == synSent {
				e.refuse(unix.EHOSTUNREACH)
			}
		})
	default:
		e.knockAt(to)
	}
}

// knockAt sends a connection request to a machine.
func (e *tcp) knockAt(to *Kernel) {
	k := e.k
	if to == k {
		k.soon(func() { e.request(k, 0) })
		return
	}
	there, back := k.LinkTo(to), to.LinkTo(k) // a request and its answer
	k.coming(k.now+int64(k.delay())+there.takes()+back.takes(), func() { e.request(to, 0) })
}
