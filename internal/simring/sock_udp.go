package simring

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// udp is a UDP socket. Its datagrams may be lost, duplicated or reordered. A connected sender whose datagram finds no
// socket gets an ICMP message, which may be lost as well.
type udp struct {
	sock
	in        []packet // arrived, and not received
	held      int      // bytes in it
	flying    int      // bytes sent that have not arrived
	arrives   int64    // when the latest that was sent does
	readShut  bool
	writeShut bool
	last      address // the source of the last that was received
}

// packet is a datagram.
type packet struct {
	from, to address
	data     []byte
}

// maxDatagram is how much fits into a datagram of UDP over IPv4.
const maxDatagram = 65507

func newUDP(s sock) socket { return &udp{sock: s} }

func (s *udp) String() string { return fmt.Sprintf("UDP %v–%v", s.local, s.remote) }

func (s *udp) events() (events uint32) {
	if len(s.in) != 0 || s.err != 0 || s.readShut {
		events |= unix.POLLIN
	}
	if s.flying < s.space() {
		events |= unix.POLLOUT
	}
	if s.err != 0 {
		events |= unix.POLLERR
	}
	if s.readShut {
		events |= unix.POLLRDHUP
		if s.writeShut {
			events |= unix.POLLHUP
		}
	}
	return events
}

// space returns how many bytes the socket holds in each direction. One datagram always fits.
func (s *udp) space() int { return max(s.k.Odds.Buffer, 256) }

func (s *udp) bind(a address) unix.Errno {
	if !s.local.isZero() {
		return unix.EINVAL
	}
	return s.k.bind(s, a)
}

func (s *udp) listen(int) unix.Errno               { return unix.EOPNOTSUPP }
func (s *udp) accept() (socket, unix.Errno)        { return nil, unix.EOPNOTSUPP }
func (s *udp) outcome() (errno unix.Errno, _ bool) { return 0, true }

// connect sets the peer of the socket; the zero address removes it.
func (s *udp) connect(a address) unix.Errno {
	if a.isZero() {
		s.remote = address{}
		return 0
	}
	from, ok := s.k.source(a)
	if a.IsValid() && !ok {
		return unix.ENETUNREACH
	}
	if errno := s.autoBind(a); errno != 0 {
		return errno
	}
	s.remote = destination(a)
	if s.local.Addr().IsUnspecified() {
		s.local = ip(netip.AddrPortFrom(from, s.local.Port()))
	}
	return 0
}

// autoBind gives the socket an address, if it has none.
func (s *udp) autoBind(to address) unix.Errno {
	switch {
	case !to.IsValid():
		return unix.EAFNOSUPPORT
	case s.local.isZero():
		return s.k.bind(s, anyPort(s.family))
	}
	return 0
}

func (s *udp) send(m *message, _ int) int {
	to := s.remote
	if m.named {
		to = destination(m.name)
	}
	switch n := m.size(); {
	case s.err != 0:
		return s.takeErr()
	case s.writeShut:
		return -int(unix.EPIPE)
	case to.isZero():
		return -int(unix.EDESTADDRREQ)
	case n > maxDatagram:
		return -int(unix.EMSGSIZE)
	case to.Port() == 0:
		return -int(unix.EINVAL)
	case s.flying >= s.space():
		return -int(unix.EAGAIN)
	}
	if errno := s.autoBind(to); errno != 0 {
		return -int(errno)
	}
	from := s.local
	if from.Addr().IsUnspecified() {
		own, ok := s.k.source(to)
		if !ok {
			return -int(unix.ENETUNREACH)
		}
		from = ip(netip.AddrPortFrom(own, from.Port()))
	}
	data := append([]byte(nil), m.bytes(0)...)
	s.flying += len(data)
	if m.segment == 0 || len(data) == 0 {
		s.fly(packet{from: from, to: to, data: data})
		return len(data)
	}
	for b := range slices.Chunk(data, m.segment) {
		s.fly(packet{from: from, to: to, data: b})
	}
	return len(data)
}

// fly sends a datagram on its way, on which it may be lost.
func (s *udp) fly(p packet) {
	k := s.k
	s.arrives = max(s.arrives, k.now+int64(k.delay()))
	at := s.arrives
	if k.chance(k.Odds.ReorderedDatagram) {
		at += int64(k.upTo(4 * k.Odds.Latency))
	}
	lost, duplicated := k.chance(k.Odds.LostDatagram), k.chance(k.Odds.DuplicateDatagram)
	k.coming(at, func() {
		s.flying -= len(p.data)
		s.poke()
		switch {
		case lost:
			k.log("a datagram from %v to %v is lost", p.from, p.to)
			return
		case duplicated:
			k.log("a datagram from %v to %v is duplicated", p.from, p.to)
			k.soon(func() { s.leave(p) })
		}
		s.leave(p)
	})
}

// leave brings a datagram to the machine that it is for.
func (s *udp) leave(p packet) {
	switch to := s.k.route(p.to.Addr()); to {
	case nil:
		s.k.log("a datagram from %v is lost: no machine has the address %v", p.from, p.to)
	case s.k:
		s.arrive(to, p)
	default:
		s.k.LinkTo(to).carryDatagram(p, func() { s.arrive(to, p) })
	}
}

// arrive delivers a datagram on a machine: to a connected socket before others; of several sockets that share an
// address, to the one that the sender's port chooses, of
// those that name the CPU if there are some.
func (s *udp) arrive(k *Kernel, p packet) {
	found := k.bound(unix.SOCK_DGRAM, p.to, func(t socket) bool { return t.base().remote == p.from })
	if len(found) == 0 {
		found = k.bound(unix.SOCK_DGRAM, p.to, func(t socket) bool { return t.base().remote.isZero() })
	}
	if len(found) == 0 {
		k.log("a datagram from %v finds no socket at %v", p.from, p.to)
		switch {
		case k.chance(k.Odds.LostDatagram):
		case k == s.k:
			k.soon(func() { s.refused(p.to) })
		default:
			k.LinkTo(s.k).carry(0, func() { s.refused(p.to) }, func() {})
		}
		return
	}
	found = preferred(found, k.receivedOn(p.from))
	to := found[int(p.from.Port())%len(found)].(*udp)
	if len(to.in) != 0 && to.held+len(p.data) > to.space() || to.readShut {
		k.log("%v has no room for a datagram", to)
		return
	}
	to.in = append(to.in, p)
	to.held += len(p.data)
	to.poke()
}

// refused handles the ICMP message that there is no socket.
func (s *udp) refused(to address) {
	if s.remote == to {
		s.err = unix.ECONNREFUSED
		s.poke()
	}
}

func (s *udp) recv(m *message, _ int) int {
	switch {
	case s.err != 0:
		return s.takeErr()
	case len(s.in) == 0 && s.readShut:
		return 0
	case len(s.in) == 0:
		return -int(unix.EAGAIN)
	}
	p := s.in[0]
	if m.flags&unix.MSG_PEEK == 0 {
		s.in = s.in[1:]
		s.held -= len(p.data)
	}
	m.name = p.from
	if s.k.Odds.Flaw == WrongSender && !s.last.isZero() {
		m.name = s.last
	}
	s.last = p.from
	return m.take(p.data)
}

// take copies the bytes of one datagram to a message. A datagram that does not fit sets MSG_TRUNC.
func (m *message) take(data []byte) int {
	n := m.scatter(data, 0)
	if n < len(data) {
		m.outcome |= unix.MSG_TRUNC
		if m.flags&unix.MSG_TRUNC != 0 {
			return len(data)
		}
	}
	return n
}

func (s *udp) shutdown(how int) unix.Errno {
	switch {
	case how < unix.SHUT_RD || how > unix.SHUT_RDWR:
		return unix.EINVAL
	case s.remote.isZero():
		return unix.ENOTCONN
	}
	s.readShut = s.readShut || how != unix.SHUT_WR
	s.writeShut = s.writeShut || how != unix.SHUT_RD
	s.poke()
	return 0
}

func (s *udp) release() {
	s.file = nil
	s.k.unbind(s)
	s.in, s.held = nil, 0
}

func (s *udp) linked() bool { return !s.remote.isZero() }
