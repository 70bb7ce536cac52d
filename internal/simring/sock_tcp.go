package simring

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// tcp is a TCP socket: a listener, or one side of a connection, which outlives its descriptor.
type tcp struct {
	sock
	state     tcpState
	peer      *tcp
	in        byteQueue // arrived, and not read
	read      uint64    // how many of the bytes that arrived are no longer in it
	sent      uint64    // how many bytes were sent
	urgent    uint64    // how many of them up to the last urgent one; 0: none is urgent
	received  uint64    // how many bytes have arrived; a FIN counts as one
	acked     uint64    // how many of the bytes that were sent have arrived
	out       byteQueue // sent, and not arrived
	inTransit bool      // a segment is on its way to the peer
	segment   int       // its bytes, on a link
	readShut  bool      // by shutdown(SHUT_RD), which the peer does not learn
	orphaned  bool      // its descriptor is closed
	autoBound bool      // its address was chosen by connect

	room    int // of a listener's backlog
	backlog []*tcp
}

// tcpState is the state of a socket, with the names of RFC 9293 where there is one.
//
//	closed, refused --connect--> synSent --accepted by a listener--> established
//	synSent --refused, timed out--> refused
//	closed --listen--> listening --shutdown--> listenerShut --listen--> listening
//
//	established --our FIN is queued--> finWait1 --it arrives--> finWait2 --the peer's FIN arrives--> timeWait
//	established --the peer's FIN arrives--> closeWait --our FIN is queued--> closing --it arrives--> timeWait
//	finWait1 --the peer's FIN arrives--> closing
//	any of a connection --RST, sent or received--> reset
//
// Our FIN is queued by shutdown and by close, behind the bytes that were sent. Where RFC 9293 tells LAST-ACK from
// CLOSING both are closing here.
type tcpState uint8

const (
	closed  tcpState = iota
	refused          // closed after a connect that has failed: it reads the end
	listening
	listenerShut // a listener that accepts no more
	synSent
	established
	finWait1
	finWait2
	closeWait
	closing
	timeWait
	reset
)

// connected reports whether the socket is, or was, one side of a connection.
func (s tcpState) connected() bool { return s >= established }

// finSent reports whether our FIN is queued, or has arrived.
func (s tcpState) finSent() bool {
	return s == finWait1 || s == finWait2 || s == closing || s == timeWait
}

// finUnderWay reports whether our FIN is queued, and has not arrived.
func (s tcpState) finUnderWay() bool { return s == finWait1 || s == closing }

// finReceived reports whether the peer's FIN has arrived.
func (s tcpState) finReceived() bool { return s == closeWait || s == closing || s == timeWait }

// after returns the state that a transition leads to: the same if it leads to no other.
func (s tcpState) after(transitions map[tcpState]tcpState) tcpState {
	if next, ok := transitions[s]; ok {
		return next
	}
	return s
}

// The transitions by FINs.
var (
	finQueued   = map[tcpState]tcpState{established: finWait1, closeWait: closing}
	finArrived  = map[tcpState]tcpState{finWait1: finWait2, closing: timeWait}
	finReceived = map[tcpState]tcpState{established: closeWait, finWait1: closing, finWait2: timeWait}
)

func newTCP(s sock) socket { return &tcp{sock: s} }

func (e *tcp) String() string { return fmt.Sprintf("TCP %v–%v", e.local, e.remote) }

// atEnd reports whether a receive finds the end of the stream when all that arrived is read.
func (e *tcp) atEnd() bool {
	return e.state.finReceived() || e.state == reset || e.state == refused || e.readShut
}

func (e *tcp) events() (events uint32) {
	switch e.state {
	case listening:
		if len(e.backlog) != 0 {
			return unix.POLLIN
		}
		return 0
	case listenerShut:
		return unix.POLLIN
	case closed, refused, reset:
		events = unix.POLLIN | unix.POLLOUT | unix.POLLHUP
	}
	if e.err != 0 {
		events |= unix.POLLIN | unix.POLLOUT | unix.POLLERR
	}
	if in, _ := e.next(); len(in) != 0 {
		events |= unix.POLLIN
	}
	if _, ok := e.mark(); ok {
		events |= unix.POLLPRI
	}
	if e.atEnd() {
		events |= unix.POLLIN | unix.POLLRDHUP
		if e.state.finSent() {
			events |= unix.POLLHUP
		}
	}
	if e.state.finSent() || e.state.connected() && e.out.len() < e.k.Odds.Buffer {
		events |= unix.POLLOUT
	}
	return events
}

func (e *tcp) recv(m *message, skip int) int {
	room := m.size() - skip
	in, urgent := e.next()
	switch {
	case !e.state.connected() && e.err == 0 && !e.atEnd():
		return -int(unix.ENOTCONN)
	case len(in) != 0 && room == 0:
		return 0
	case len(in) != 0:
		n := e.k.some(min(len(in), room))
		m.scatter(in[:n], skip)
		if m.flags&unix.MSG_PEEK == 0 {
			e.in.drop(&e.k.queues, urgent+n)
			e.read += uint64(urgent + n)
			e.peer.move()
		}
		return n
	case e.err != 0:
		return e.takeErr()
	case e.atEnd():
		return 0
	}
	return -int(unix.EAGAIN)
}

// mark returns how many bytes are in front of the urgent byte, if that has arrived and is still to come.
func (e *tcp) mark() (n int, ok bool) {
	if e.peer == nil || e.peer.urgent <= e.read {
		return 0, false
	}
	n = int(e.peer.urgent - e.read - 1)
	return n, n < e.in.len()
}

// atMark reports whether the urgent byte is the next one.
func (e *tcp) atMark() bool {
	n, ok := e.mark()
	return ok && n == 0
}

// next returns what one receive can take: the bytes in front of the urgent byte, or else those behind it, for which
// that is left out.
func (e *tcp) next() (in []byte, urgent int) {
	switch n, ok := e.mark(); {
	case !ok:
		return e.in.bytes(), 0
	case n == 0:
		return e.in.bytes()[1:], 1
	default:
		return e.in.bytes()[:n], 0
	}
}

// some returns n, or less if the transfer is short.
func (k *Kernel) some(n int) int {
	if n > 1 && k.chance(k.Odds.ShortTransfer) {
		return 1 + k.rng.IntN(n)
	}
	return n
}

func (e *tcp) send(m *message, skip int) int {
	room := e.k.Odds.Buffer - e.out.len()
	switch {
	case e.err != 0:
		return e.takeErr()
	case e.state != synSent && !e.state.connected() || e.state.finSent() || e.state == reset:
		return -int(unix.EPIPE)
	case m.size() == skip:
		return 0
	case room <= 0 || e.state == synSent:
		return -int(unix.EAGAIN)
	}
	n := e.k.some(min(m.size()-skip, room))
	e.out.reserve(&e.k.queues, n)
	e.out.b = m.appendPart(e.out.b, skip, n)
	e.sent += uint64(n)
	if m.flags&unix.MSG_OOB != 0 && skip+n == m.size() {
		e.urgent = e.sent
	}
	e.move()
	return n
}

// move brings what was sent to the peer, a segment at a time.
func (e *tcp) move() {
	switch {
	case e.inTransit || !e.state.connected() || e.state == reset:
	case e.out.len() == 0 && !e.state.finUnderWay():
	case e.out.len() != 0 && !e.peer.orphaned && e.peer.in.len() >= e.peer.k.Odds.Buffer: // until the peer reads
	default:
		e.inTransit = true
		e.transmit(0)
	}
}

// arrive delivers a segment to the peer: try counts its repetitions.
func (e *tcp) arrive(try int) {
	p := e.peer
	switch {
	case e.state == reset || p.state == reset && p.k == e.k:
		e.inTransit = false
		return
	case p.state == reset: // its RST may have been lost
		p.resetPeer()
		e.retransmit(try)
		return
	}
	e.inTransit = false
	switch {
	case e.out.len() != 0 && p.orphaned:
		e.k.log("bytes arrive at a closed socket, which resets")
		p.abort()
		return
	}
	room := max(p.k.Odds.Buffer-p.in.len(), 0)
	if p.k != e.k && e.k.LinkTo(p.k).Bandwidth > 0 {
		room = min(room, e.segment) // what was written later is sent later
	}
	n := e.k.some(min(e.out.len(), room))
	p.in.push(&e.k.queues, e.out.bytes()[:n])
	p.received += uint64(n)
	e.acked += uint64(n)
	e.out.drop(&e.k.queues, n)
	if e.out.len() == 0 && e.state.finUnderWay() {
		e.state, p.state = e.state.after(finArrived), p.state.after(finReceived)
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
	case e.state == listening || e.state == listenerShut:
		if how != unix.SHUT_WR {
			e.state = listenerShut
			e.resetBacklog()
		}
		e.poke()
		return 0
	case !e.state.connected() || e.state == reset:
		return unix.ENOTCONN
	}
	e.readShut = e.readShut || how != unix.SHUT_WR
	if how != unix.SHUT_RD {
		e.state = e.state.after(finQueued)
	}
	e.poke()
	e.move()
	return 0
}

func (e *tcp) release() {
	e.orphaned, e.file = true, nil
	e.k.unbind(e)
	switch {
	case e.state == listening || e.state == listenerShut:
		e.resetBacklog()
	case !e.state.connected():
		e.state = closed
	case e.linger || e.in.len() != 0:
		e.abort()
	default:
		e.state = e.state.after(finQueued)
		e.move()
	}
}

// resetBacklog resets the connections that wait in a listener's backlog.
func (e *tcp) resetBacklog() {
	for _, waiting := range e.backlog {
		waiting.abort()
	}
	e.backlog = nil
}

// abort drops what has not arrived and resets the peer.
func (e *tcp) abort() {
	if e.state == reset {
		return
	}
	e.k.log("%v resets %v, %d bytes unsent and %d unread", e.local, e.remote, e.out.len(), e.in.len())
	e.state, e.orphaned = reset, true
	e.out.clear(&e.k.queues)
	e.resetPeer()
}

// onReset fails the connection when a RST arrives.
func (e *tcp) onReset() {
	if e.state == reset {
		return
	}
	errno := unix.ECONNRESET
	if e.state == closeWait {
		errno = unix.EPIPE // as tcp_reset() in the kernel has it
	}
	e.fail(errno)
}

// fail ends the connection on this side.
func (e *tcp) fail(errno unix.Errno) {
	e.err, e.state = errno, reset
	e.out.clear(&e.k.queues)
	e.poke()
}

func (e *tcp) bind(a address) unix.Errno {
	if !e.local.isZero() {
		return unix.EINVAL
	}
	return e.k.bind(e, a)
}

func (e *tcp) listen(backlog int) unix.Errno {
	if e.state > listenerShut {
		return unix.EINVAL
	}
	if e.local.isZero() {
		if errno := e.k.bind(e, anyPort(e.family)); errno != 0 {
			return errno
		}
	}
	e.state, e.room = listening, e.k.roomOf(backlog)
	return 0
}

// roomOf returns how many connections wait for a listener that asks for a backlog.
func (k *Kernel) roomOf(backlog int) int {
	if k.Odds.Backlog > 0 {
		return min(backlog, k.Odds.Backlog)
	}
	return backlog
}

func (e *tcp) accept() (socket, unix.Errno) {
	switch {
	case e.state != listening:
		return nil, unix.EINVAL
	case len(e.backlog) == 0:
		return nil, unix.EAGAIN
	}
	first := e.backlog[0]
	e.backlog = e.backlog[1:]
	if first.state == reset && e.k.chance(e.k.Odds.AbortedAccept) {
		return nil, unix.ECONNABORTED
	}
	return first, 0
}

// requestAgain is how long a connection request that finds no room waits.
const requestAgain = 1e9

func (e *tcp) connect(a address) unix.Errno {
	switch {
	case !a.IsValid():
		return unix.EAFNOSUPPORT
	case e.state == synSent:
		return unix.EALREADY
	case e.state != closed && e.state != refused:
		return unix.EISCONN
	}
	from, ok := e.k.source(a)
	if !ok {
		return unix.ENETUNREACH
	}
	if e.autoBound = e.local.isZero(); e.autoBound {
		e.local = ip(netip.AddrPortFrom(from, e.k.ephemeral()))
	}
	e.err, e.state, e.remote = 0, synSent, destination(a)
	e.knock()
	return unix.EINPROGRESS
}

func (e *tcp) outcome() (unix.Errno, bool) {
	if e.err != 0 {
		return unix.Errno(-e.takeErr()), true
	}
	return 0, e.state.connected()
}

// request delivers a connection request to a machine: try counts its repetitions.
func (e *tcp) request(to *Kernel, try int) {
	k := e.k
	if e.state != synSent {
		return
	}
	if to != k && (k.LinkTo(to).loses() || to.LinkTo(k).loses()) {
		k.log("a connection request from %v to %v is lost", e.local, e.remote)
		e.requestAgain(to, try)
		return
	}
	if e.texts[ipOptions] != "" { // the receiver finds fault with them
		e.refuse(unix.EPROTO)
		return
	}
	listeners := to.bound(unix.SOCK_STREAM, e.remote, func(s socket) bool { return s.(*tcp).state == listening })
	if len(listeners) == 0 || k.chance(k.Odds.RefusedConnect) {
		e.refuse(unix.ECONNREFUSED)
		return
	}
	cpu := to.receivedOn(e.local)
	listeners = preferred(listeners, cpu)
	l := listeners[k.rng.IntN(len(listeners))].(*tcp)
	if len(l.backlog) > l.room {
		e.requestAgain(to, try)
		return
	}
	base := sock{node: node{k: to}, family: l.family, kind: l.kind, local: e.remote, remote: e.local}
	base.options = maps.Clone(l.options) // a connection inherits those of its listener
	_ = base.set(incomingCPU, cpu)
	e.peer = &tcp{sock: base, peer: e, state: established}
	e.state = established
	l.backlog = append(l.backlog, e.peer)
	if to != k {
		k.LinkTo(to).joins(e)
		to.LinkTo(k).joins(e.peer)
	}
	l.poke()
	e.poke()
}

// requestAgain repeats a connection request that came to nothing.
func (e *tcp) requestAgain(to *Kernel, try int) {
	e.k.at(e.k.now+requestAgain<<try, func() {
		switch {
		case e.state != synSent:
		case try == synRetries:
			e.refuse(unix.ETIMEDOUT)
		default:
			e.request(to, try+1)
		}
	})
}

func (e *tcp) refuse(errno unix.Errno) {
	e.state, e.err, e.remote = refused, errno, address{}
	if e.autoBound {
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

// destination returns where something sent to a goes: the machine itself, if a is unspecified.
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

// bind gives an internet socket an address, which it shares with others only by SO_REUSEPORT.
func (k *Kernel) bind(s socket, a address) unix.Errno {
	if !a.IsValid() {
		return unix.EAFNOSUPPORT
	}
	b := s.base()
	if !a.Addr().IsUnspecified() && !k.has(a.Addr()) {
		return unix.EADDRNOTAVAIL
	}
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

func (e *tcp) linked() bool { return e.state.connected() && e.state != reset }
