package simring

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// tcp is a TCP socket: a listener, or one end of a connection, which outlives its descriptor.
type tcp struct {
	sock
	state     tcpState
	peer      *tcp
	in        []byte // arrived, and not read
	received  uint64 // how much has arrived; an end counts as a byte
	acked     uint64 // how much of what was sent has arrived
	out       []byte // sent, and not arrived
	finIn     bool   // the peer's end has arrived
	finOut    bool   // ours has
	readShut  bool
	writeShut bool // our end goes behind out
	closed    bool // nobody has the descriptor any more
	dead      bool // it was reset
	moving    bool // bytes are on their way
	lent      bool // its address is for as long as it is connected

	room     int // of a listener's backlog
	backlog  []*tcp
	shutDown bool // a listener that takes no more
}

type tcpState uint8

const (
	fresh tcpState = iota
	listening
	connecting
	connected
)

func newTCP(s sock) socket { return &tcp{sock: s} }

func (e *tcp) String() string { return fmt.Sprintf("TCP %v–%v", e.local, e.remote) }

func (e *tcp) readable() bool {
	return len(e.in) != 0 || e.finIn || e.readShut || e.dead || e.err != 0 || e.state == fresh
}

func (e *tcp) writable() bool {
	return e.dead || e.err != 0 || e.writeShut || e.state == fresh || e.state == connected && len(e.out) < e.k.Odds.Buffer
}

func (e *tcp) events() (events uint32) {
	if e.state == listening {
		if len(e.backlog) != 0 || e.shutDown {
			events |= unix.POLLIN
		}
		return events
	}
	if e.readable() {
		events |= unix.POLLIN
	}
	if e.writable() {
		events |= unix.POLLOUT
	}
	if e.err != 0 {
		events |= unix.POLLERR
	}
	if e.finIn || e.dead || e.readShut {
		events |= unix.POLLRDHUP
	}
	if e.dead || (e.finIn || e.readShut) && e.writeShut || e.state == fresh {
		events |= unix.POLLHUP
	}
	return events
}

func (e *tcp) recv(m *message, skip int) int {
	room := m.size() - skip
	switch {
	case e.state != connected && e.err == 0 && !e.readShut:
		return -int(unix.ENOTCONN)
	case len(e.in) != 0 && room == 0:
		return 0
	case len(e.in) != 0:
		n := e.k.some(min(len(e.in), room))
		m.scatter(e.in[:n], skip)
		if m.flags&unix.MSG_PEEK == 0 {
			e.in = e.in[n:]
			e.peer.move()
		}
		return n
	case e.err != 0:
		return e.takeErr()
	case e.finIn || e.readShut || e.dead:
		return 0
	}
	return -int(unix.EAGAIN)
}

// some is n, or less if the transfer is short.
func (k *Kernel) some(n int) int {
	if n > 1 && k.chance(k.Odds.Short) {
		return 1 + k.rng.IntN(n)
	}
	return n
}

func (e *tcp) send(m *message, skip int) int {
	switch room := e.k.Odds.Buffer - len(e.out); {
	case e.err != 0:
		return e.takeErr()
	case e.dead || e.writeShut || e.state == fresh || e.state == listening:
		return -int(unix.EPIPE)
	case m.size() == skip:
		return 0
	case room <= 0 || e.state == connecting:
		return -int(unix.EAGAIN)
	default:
		n := e.k.some(min(m.size()-skip, room))
		e.out = append(e.out, m.part(skip, n)...)
		e.move()
		return n
	}
}

// move brings what was sent to the peer, a piece at a time.
func (e *tcp) move() {
	if e.moving || e.dead || e.state != connected || len(e.out) == 0 && (!e.writeShut || e.finOut) {
		return
	}
	if len(e.out) != 0 && !e.peer.closed && len(e.peer.in) >= e.k.Odds.Buffer {
		return // it goes on when the peer reads
	}
	e.moving = true
	e.k.soon(e.arrive)
}

func (e *tcp) arrive() {
	e.moving = false
	p := e.peer
	switch {
	case e.dead || p.dead:
		return
	case len(e.out) != 0 && p.closed: // nobody will read it
		e.k.log("bytes arrive at a closed socket, which resets")
		p.abort()
		return
	}
	n := e.k.some(min(len(e.out), e.k.Odds.Buffer-len(p.in)))
	p.in = append(p.in, e.out[:n]...)
	p.received += uint64(n)
	e.acked += uint64(n)
	e.out = e.out[n:]
	if len(e.out) == 0 && e.writeShut {
		e.finOut, p.finIn = true, true
		p.received++
	}
	p.poke()
	e.poke()
	e.move()
}

func (e *tcp) shutdown(how int) unix.Errno {
	switch {
	case how < unix.SHUT_RD || how > unix.SHUT_RDWR:
		return unix.EINVAL
	case e.state == listening:
		if how != unix.SHUT_WR {
			e.shutDown = true
			e.turnAway()
		}
		e.poke()
		return 0
	case e.state != connected || e.dead:
		return unix.ENOTCONN
	}
	e.readShut = e.readShut || how != unix.SHUT_WR
	e.writeShut = e.writeShut || how != unix.SHUT_RD
	e.poke()
	e.move()
	return 0
}

func (e *tcp) release() {
	e.closed, e.file = true, nil
	e.k.unbind(e)
	switch {
	case e.state == listening:
		e.turnAway()
	case e.state != connected:
		e.state = fresh
	case e.linger || len(e.in) != 0:
		e.abort()
	default:
		e.writeShut = true
		e.move()
	}
}

// turnAway resets the connections that wait in a listener's backlog.
func (e *tcp) turnAway() {
	for _, waiting := range e.backlog {
		waiting.abort()
	}
	e.backlog = nil
}

// abort drops what has not arrived and resets the peer.
func (e *tcp) abort() {
	if e.dead {
		return
	}
	e.k.log("%v resets %v, %d bytes unsent and %d unread", e.local, e.remote, len(e.out), len(e.in))
	e.dead, e.closed, e.out = true, true, nil
	e.k.soon(e.peer.onReset)
}

func (e *tcp) onReset() {
	if e.dead {
		return
	}
	e.dead, e.out = true, nil
	e.err = unix.ECONNRESET
	if e.finIn && !e.writeShut {
		e.err = unix.EPIPE // tcp_reset() in CLOSE_WAIT
	}
	e.poke()
}

func (e *tcp) bind(a address) unix.Errno {
	if !e.local.isZero() {
		return unix.EINVAL
	}
	return e.k.bind(e, a)
}

func (e *tcp) listen(backlog int) unix.Errno {
	if e.state != fresh && e.state != listening {
		return unix.EINVAL
	}
	if e.local.isZero() {
		if errno := e.k.bind(e, anyPort(e.family)); errno != 0 {
			return errno
		}
	}
	e.state, e.room, e.shutDown = listening, backlog, false
	return 0
}

func (e *tcp) accept() (socket, unix.Errno) {
	switch {
	case e.state != listening || e.shutDown:
		return nil, unix.EINVAL
	case len(e.backlog) == 0:
		return nil, unix.EAGAIN
	}
	first := e.backlog[0]
	e.backlog = e.backlog[1:]
	if first.dead && e.k.chance(e.k.Odds.Gone) {
		return nil, unix.ECONNABORTED
	}
	return first, 0
}

// retransmit is how long a connection request that finds no room waits.
const retransmit = 1e9

func (e *tcp) connect(a address) unix.Errno {
	switch {
	case !a.IsValid():
		return unix.EAFNOSUPPORT
	case e.state == connecting:
		return unix.EALREADY
	case e.state != fresh:
		return unix.EISCONN
	}
	if e.lent = e.local.isZero(); e.lent {
		e.local = ip(netip.AddrPortFrom(source(a), e.k.ephemeral()))
	}
	e.err, e.dead, e.readShut, e.writeShut = 0, false, false, false
	e.state, e.remote = connecting, destination(a)
	e.k.soon(func() { e.request(0) })
	return unix.EINPROGRESS
}

func (e *tcp) outcome() (unix.Errno, bool) {
	if e.err != 0 {
		return unix.Errno(-e.takeErr()), true
	}
	return 0, e.state == connected
}

// request is a connection request that arrives: try counts its repetitions.
func (e *tcp) request(try int) {
	k := e.k
	if e.state != connecting {
		return
	}
	if e.texts[ipOptions] != "" { // the receiver finds fault with them
		e.refuse(unix.EPROTO)
		return
	}
	listeners := k.bound(unix.SOCK_STREAM, e.remote, func(s socket) bool { return s.(*tcp).state == listening && !s.(*tcp).shutDown })
	if len(listeners) == 0 || k.chance(k.Odds.Refused) {
		e.refuse(unix.ECONNREFUSED)
		return
	}
	l := listeners[k.rng.IntN(len(listeners))].(*tcp)
	switch {
	case len(l.backlog) <= l.room:
	case try == 6:
		e.refuse(unix.ETIMEDOUT)
		return
	default:
		k.at(k.now+retransmit<<try, func() { e.request(try + 1) })
		return
	}
	base := sock{node: node{k: k}, family: l.family, kind: l.kind, local: e.remote, remote: e.local}
	e.peer = &tcp{sock: base, peer: e, state: connected}
	e.state = connected
	l.backlog = append(l.backlog, e.peer)
	l.poke()
	e.poke()
}

func (e *tcp) refuse(errno unix.Errno) {
	e.state, e.err, e.remote = fresh, errno, address{}
	e.readShut, e.writeShut = true, true
	if e.lent {
		e.local = address{}
	}
	e.poke()
}

// anyPort asks for any port on any address of the family.
func anyPort(family int) address {
	if family == unix.AF_INET6 {
		return ip(netip.AddrPortFrom(netip.IPv6Unspecified(), 0))
	}
	return ip(netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
}

// source is the machine's own address on the way to a.
func source(a address) netip.Addr { return destination(a).Addr() }

// destination is where something sent to a goes: what goes to no address in particular goes to the
// machine itself.
func destination(a address) address {
	switch {
	case !a.Addr().IsUnspecified():
		return a
	case a.Addr().Is4():
		return ip(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port()))
	}
	return ip(netip.AddrPortFrom(netip.IPv6Loopback(), a.Port()))
}

// place is where internet sockets of a kind are found.
type place struct {
	kind int
	port uint16
}

// bind gives an internet socket an address of its own, or one that it shares with others by SO_REUSEPORT.
func (k *Kernel) bind(s socket, a address) unix.Errno {
	if !a.IsValid() {
		return unix.EAFNOSUPPORT
	}
	b := s.base()
	if a.Port() == 0 {
		a = ip(netip.AddrPortFrom(a.Addr(), k.ephemeral()))
	}
	at := place{b.kind, a.Port()}
	for _, other := range k.ports[at] {
		o := other.base()
		overlap := o.local == a || o.local.Addr().IsUnspecified() || a.Addr().IsUnspecified()
		if overlap && (o.options[reusePort] == 0 || b.options[reusePort] == 0) {
			return unix.EADDRINUSE
		}
	}
	b.local = a
	k.ports[at] = append(k.ports[at], s)
	return 0
}

// unbind takes a socket's address back.
func (k *Kernel) unbind(s socket) {
	at := place{s.base().kind, s.base().local.Port()}
	k.ports[at] = slices.DeleteFunc(k.ports[at], func(t socket) bool { return t == s })
}

// bound finds the sockets at an address that will do.
func (k *Kernel) bound(kind int, a address, will func(socket) bool) (found []socket) {
	for _, s := range k.ports[place{kind, a.Port()}] {
		local := s.base().local.Addr()
		wild := local.IsUnspecified() && (local.Is6() || a.Addr().Is4())
		if (local == a.Addr() || wild) && will(s) {
			found = append(found, s)
		}
	}
	return found
}

func (e *tcp) linked() bool { return e.state == connected && !e.dead }
