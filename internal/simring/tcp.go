package simring

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// end is one end of a connection. It outlives its descriptor, like TCP's.
type end struct {
	k         *Kernel
	file      *file // nil: closed, or not accepted yet
	peer      *end
	remote    netip.AddrPort
	local     netip.AddrPort
	state     endState
	in        []byte // arrived, and not read
	out       []byte // sent, and not arrived
	finIn     bool   // the peer's end has arrived
	finOut    bool   // ours has
	readShut  bool
	writeShut bool       // our end goes behind out
	closed    bool       // nobody has the descriptor any more
	dead      bool       // it was reset
	err       unix.Errno // for the next call that asks
	linger    bool       // closing resets
	moving    bool       // bytes are on their way
}

type endState uint8

const (
	fresh endState = iota
	connecting
	connected
)

func (e *end) readable() bool {
	return len(e.in) != 0 || e.finIn || e.readShut || e.dead || e.err != 0 || e.state == fresh
}

func (e *end) writable() bool {
	return e.dead || e.err != 0 || e.writeShut || e.state != connecting && len(e.out) < e.k.Odds.Buffer
}

// recv takes what has arrived. It returns a count, or a negative errno.
func (e *end) recv(p []byte) int {
	switch {
	case e.state != connected && e.err == 0:
		return -int(unix.ENOTCONN)
	case len(e.in) != 0:
		n := e.k.some(min(len(e.in), len(p)))
		copy(p, e.in[:n])
		e.in = e.in[n:]
		e.peer.move()
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

func (e *end) takeErr() int {
	errno := e.err
	e.err = 0
	return -int(errno)
}

// send takes bytes to be sent. It returns a count, or a negative errno.
func (e *end) send(p []byte) int {
	switch room := e.k.Odds.Buffer - len(e.out); {
	case e.err != 0:
		return e.takeErr()
	case e.dead || e.writeShut || e.state == fresh:
		return -int(unix.EPIPE)
	case len(p) == 0:
		return 0
	case room <= 0 || e.state == connecting:
		return -int(unix.EAGAIN)
	default:
		n := e.k.some(min(len(p), room))
		e.out = append(e.out, p[:n]...)
		e.move()
		return n
	}
}

// move brings what was sent to the peer, a piece at a time.
func (e *end) move() {
	if e.moving || e.dead || e.state != connected || len(e.out) == 0 && (!e.writeShut || e.finOut) {
		return
	}
	if len(e.out) != 0 && !e.peer.closed && len(e.peer.in) >= e.k.Odds.Buffer {
		return // it goes on when the peer reads
	}
	e.moving = true
	e.k.soon(e.arrive)
}

func (e *end) arrive() {
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
	e.out = e.out[n:]
	if len(e.out) == 0 && e.writeShut {
		e.finOut, p.finIn = true, true
	}
	p.file.poke()
	e.file.poke()
	e.move()
}

func (e *end) shutdown(how int) unix.Errno {
	if e.state != connected || e.dead {
		return unix.ENOTCONN
	}
	e.readShut = e.readShut || how != unix.SHUT_WR
	e.writeShut = e.writeShut || how != unix.SHUT_RD
	e.file.poke()
	e.move()
	return 0
}

func (e *end) close() {
	e.closed, e.file = true, nil
	if e.state != connected {
		e.state = fresh
		return
	}
	if e.linger || len(e.in) != 0 {
		e.abort()
		return
	}
	e.writeShut = true
	e.move()
}

// abort drops what has not arrived and resets the peer.
func (e *end) abort() {
	if e.dead {
		return
	}
	e.k.log("%v resets %v, %d bytes unsent and %d unread", e.local, e.remote, len(e.out), len(e.in))
	e.dead, e.closed, e.out = true, true, nil
	e.k.soon(e.peer.onReset)
}

func (e *end) onReset() {
	if e.dead {
		return
	}
	e.dead, e.out = true, nil
	e.err = unix.ECONNRESET
	if e.finIn && !e.writeShut {
		e.err = unix.EPIPE // tcp_reset() in CLOSE_WAIT
	}
	e.file.poke()
}

// retransmit is how long a connection request that finds no room waits.
const retransmit = 1e9

// request is a connection request that arrives: try counts its repetitions.
func (e *end) request(try int) {
	k := e.k
	if e.state != connecting {
		return
	}
	listeners := k.ports[e.remote.Port()]
	if len(listeners) == 0 || k.chance(k.Odds.Refused) {
		e.refuse(unix.ECONNREFUSED)
		return
	}
	l := listeners[k.rng.IntN(len(listeners))]
	switch {
	case len(l.backlog) <= l.room:
	case try == 6:
		e.refuse(unix.ETIMEDOUT)
		return
	default:
		k.at(k.now+retransmit<<try, func() { e.request(try + 1) })
		return
	}
	e.peer = &end{k: k, peer: e, local: e.remote, remote: e.local, state: connected}
	e.state = connected
	l.backlog = append(l.backlog, e.peer)
	l.poke()
	e.file.poke()
}

func (e *end) refuse(errno unix.Errno) {
	e.state, e.err = fresh, errno
	e.file.poke()
}
