package udp

import (
	"encoding/binary"
	"errors"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

// packet is datagrams of a session on their way out: one, or several of the same size (the last one may be shorter)
// that are sent as one, and that the kernel takes apart.
type packet struct {
	sender.EmptyEnv
	session  *Session
	from     int // side
	op       reactor.SendMsgOp
	pieces   [][]byte
	received []*received // whose memory the pieces are
	control  []byte
	segment  int // the size of each datagram but the last
	bytes    int
	count    int  // datagrams
	full     bool // no more can be added
	oneByOne bool // the kernel does not take several: they are sent one by one
	piece    int  // the next piece, if oneByOne
	offset   int  // in that piece
	sent     int  // datagrams that were sent, if oneByOne
}

const (
	// maxSegments is how many datagrams the kernel takes as one: UDP_MAX_SEGMENTS of the oldest that has them.
	maxSegments = 64
	// maxBytes is the maximum number of bytes that it takes as one.
	maxBytes = 65000
)

// send passes on datagrams of a side.
func (s *Session) send(from int, in *received, b []byte) {
	l, segment := s.listener, in.segment
	if s.pending[from] >= maxPending {
		for range datagrams(b, segment) {
			l.drop(DropFull)
		}
		return
	}
	if p := l.open; p != nil && p.session == s && p.from == from && p.fits(b, segment) {
		p.add(in, b, segment)
		return
	}
	if from == client && s.header != nil {
		s.sendWithHeader(in, b)
		return
	}
	l.flush()
	p := l.packets.Get()
	p.session, p.from, p.segment = s, from, segment
	p.add(in, b, segment)
	if !p.canGrow() {
		p.start()
		return
	}
	l.open = p
	l.turn.await()
}

// sendWithHeader passes on datagrams of the client one by one, each with the header in front. A datagram without it
// could begin with a header that the client has written.
func (s *Session) sendWithHeader(in *received, b []byte) {
	for {
		n := min(len(b), in.segment)
		p := s.listener.packets.Get()
		p.session, p.from, p.segment = s, client, in.segment
		p.pieces = append(p.pieces, s.header)
		p.add(in, b[:n], in.segment)
		p.start()
		if b = b[n:]; len(b) == 0 {
			return
		}
	}
}

// canGrow reports whether more datagrams may be added to a packet.
func (p *packet) canGrow() bool {
	s := p.session
	if p.full || p.segment == 0 {
		return false
	}
	if p.from == client {
		return !s.oneByOne && s.segments
	}
	return !s.oneByOne && s.via.coalesces
}

// fits reports whether b can be added to p.
func (p *packet) fits(b []byte, segment int) bool {
	return !p.full && len(b) != 0 && segment <= p.segment && (segment == p.segment || len(b) == segment) &&
		p.bytes+len(b) <= maxBytes && p.count+datagrams(b, segment) <= maxSegments
}

func (p *packet) add(in *received, b []byte, segment int) {
	in.refs++
	p.received = append(p.received, in)
	p.pieces = append(p.pieces, b)
	p.bytes += len(b)
	n := datagrams(b, segment)
	p.count += n
	p.session.pending[p.from] += n
	if p.segment == 0 || len(b)%p.segment != 0 {
		p.full = true
	}
}

// flush sends the packet to which more datagrams could be added.
func (l *Listener) flush() {
	if p := l.open; p != nil {
		l.open = nil
		p.start()
	}
}

// start sends the packet, or has it wait until the session is connected.
func (p *packet) start() {
	s := p.session
	switch {
	case p.from == client && s.state < flowing:
		s.waiting = append(s.waiting, p)
	case p.from == client && s.Over():
		p.drop(DropEnded)
	default:
		p.send()
	}
}

// send sends all of the packet as one message.
func (p *packet) send() {
	s := p.session
	to := &s.socket
	var address reactor.Address
	p.control = p.control[:0]
	if p.from == server {
		to, address = &s.via.Socket, s.client
		p.control = s.appendPktinfo(p.control)
	}
	to.SendMsg(nil, p.control, address).Connect(&p.op, p)
	if p.count > 1 && s.oneByOne {
		p.oneByOne = true
		p.sendNext()
		return
	}
	p.op.Reset()
	for _, b := range p.pieces {
		p.op.Add(b)
	}
	if p.count > 1 {
		var size [2]byte
		binary.NativeEndian.PutUint16(size[:], uint16(p.segment))
		p.control = reactor.AppendControl(p.control, reactor.ControlMessage{
			Level: unix.IPPROTO_UDP, Type: unix.UDP_SEGMENT, Data: size[:],
		})
		p.op.SetControl(p.control)
	}
	p.op.Start()
}

// appendPktinfo appends the control data that has a reply leave from the address that the client has asked.
func (s *Session) appendPktinfo(control []byte) []byte {
	m := reactor.ControlMessage{Level: unix.IPPROTO_IP, Type: unix.IP_PKTINFO, Data: s.pktinfo}
	switch len(s.pktinfo) {
	case 0:
		return control
	case unix.SizeofInet6Pktinfo:
		m.Level, m.Type = unix.IPPROTO_IPV6, unix.IPV6_PKTINFO
	}
	return reactor.AppendControl(control, m)
}

// sendNext sends the next datagram of those that are sent one by one.
func (p *packet) sendNext() {
	b := p.pieces[p.piece][p.offset:]
	n := min(len(b), p.segment)
	if p.offset += n; n == len(b) {
		p.piece, p.offset = p.piece+1, 0
	}
	p.op.Reset()
	p.op.Add(b[:n])
	p.op.Start()
}

// SetValue counts the datagrams of the message, which is sent.
func (p *packet) SetValue(n int) {
	l := p.session.listener
	if !p.oneByOne {
		l.tally.Datagrams[p.from] += uint64(p.count)
		l.tally.Bytes[p.from] += uint64(p.bytes)
		p.end()
		return
	}
	l.tally.Datagrams[p.from]++
	l.tally.Bytes[p.from] += uint64(n)
	p.continueOneByOne()
}

func (p *packet) continueOneByOne() {
	if p.sent++; p.sent < p.count {
		p.sendNext()
		return
	}
	p.end()
}

// SetError sends several datagrams one by one, or drops what could not be sent.
func (p *packet) SetError(err error) {
	s := p.session
	if p.count > 1 && !p.oneByOne && refusesSegments(err) {
		p.oneByOne, s.oneByOne = true, true
		p.control = p.control[:0]
		if p.from == server {
			p.control = s.appendPktinfo(p.control)
		}
		p.op.SetControl(p.control)
		p.sendNext()
		return
	}
	switch {
	case p.from != client:
	case isDatagramsFault(err):
		s.forgetErrors()
	default:
		defer s.fail(err)
	}
	if p.oneByOne && !s.Over() {
		s.listener.drop(DropError)
		p.continueOneByOne()
		return
	}
	p.drop(DropError)
}

// refusesSegments reports whether err may be because the kernel, or the network device, does not take several datagrams
// as one.
func refusesSegments(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EMSGSIZE) ||
		errors.Is(err, syscall.EOPNOTSUPP)
}

// isDatagramsFault reports whether err says nothing about the server: the datagram is too large, or a rule of this
// machine forbids it, or there is no memory for it.
func isDatagramsFault(err error) bool {
	return errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EINVAL)
}

// SetStopped drops the packet: the session has ended, or the loop is stopping.
func (p *packet) SetStopped() { p.drop(DropEnded) }

// Env returns an empty environment.
func (p *packet) Env() sender.Env { return p }

// drop ends a packet of which nothing more is sent.
func (p *packet) drop(why Drop) {
	for range p.count - p.sent {
		p.session.listener.drop(why)
	}
	p.end()
}

// end gives back what the packet has.
func (p *packet) end() {
	s := p.session
	l := s.listener
	l.turn.await()
	s.pending[p.from] -= p.count
	received, pieces := p.received, p.pieces
	for _, in := range received {
		in.release()
	}
	clear(received)
	clear(pieces)
	p.session, p.received, p.pieces, p.control = nil, received[:0], pieces[:0], p.control[:0]
	p.segment, p.bytes, p.count, p.full, p.oneByOne, p.piece, p.offset, p.sent = 0, 0, 0, false, false, 0, 0, 0
	l.packets.Keep(p)
}
