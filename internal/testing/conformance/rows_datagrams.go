package conformance

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/sendertest"
)

var noConnection = never("there is no connection that could be half-closed or reset")

// connectionless are the cells that differ where there is no connection.
var connectionless = cells{endOfFile: noConnection, resetBefore: noConnection, resetMeanwhile: noConnection}

// datagrams are the rows of sockets for datagrams.
var datagrams = []row{
	{"recv from", true, recvFrom, receiving.whole().with(connectionless)},
	{"recv from lease", true, recvFromLease, receiving.whole().with(connectionless)},
	{"recv from many", true, recvFromMany(2), acceptingMany.with(connectionless)},
	{"recv from many, unlimited", true, recvFromMany(reactor.Unlimited), acceptingMany.with(connectionless)},
	{"recv many, of datagrams", true, recvManyDatagrams, acceptingMany.with(connectionless)},
	{"send to a full unix socket", true, toFull(false, false), toReceiver},
	{"send on a connection to a full unix socket", true, toFull(true, false), toReceiver},
	{"send msg to a full unix socket", true, toFull(false, true), toReceiver},
	{"send msg on a connection to a full unix socket", true, toFull(true, true), toReceiver},
	{"send to", true, sendTo, sending.whole().with(cells{
		resetBefore:    noConnection,
		resetMeanwhile: fails(unix.ECONNREFUSED), // the peer is closed
	})},
}

// toReceiver are the cells of sends to a unix socket.
var toReceiver = sending.whole().with(cells{
	resetBefore:    fails(unix.ECONNREFUSED), // the receiver is closed
	resetMeanwhile: fails(unix.ECONNREFUSED),
})

// toFull sends to the name of a unix socket, or on a connection to it. If blocked, another socket's datagrams have
// filled it: then the sender's own socket has room.
func toFull(connected, pieces bool) func(*stage, bool) *subject {
	return func(s *stage, blocked bool) *subject {
		x := &subject{trace: newTrace(s), waits: blocked}
		open := func() int {
			fd, err := s.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			s.must(err)
			return fd
		}
		receiver := s.own(open())
		s.must(s.Bind(receiver, &unix.SockaddrUnix{})) // the kernel chooses the name
		sa, err := s.Getsockname(receiver)
		s.must(err)
		to, err := reactor.UnixAddress(sa.(*unix.SockaddrUnix).Name)
		s.must(err)
		var arrived []string
		take := func() {
			buf := make([]byte, 64)
			for {
				n, _, err := s.Recvfrom(receiver, buf, unix.MSG_DONTWAIT)
				if errors.Is(err, unix.EAGAIN) {
					return
				}
				if s.must(err); string(buf[:n]) != filler {
					arrived = append(arrived, string(buf[:n]))
				}
			}
		}
		if blocked {
			other := s.own(open())
			s.must(s.Connect(other, sa))
			s.fillWith(other, []byte(filler))
			x.act = take
		}
		fd := open()
		if connected {
			s.must(s.Connect(fd, sa))
			to = reactor.Address{}
		}
		x.socket = s.adopt(fd)
		closed := false
		x.reset = func() { closed = true; s.disown(receiver) }
		switch {
		case pieces:
			op := new(reactor.SendMsgOp)
			x.socket.SendMsg([][]byte{[]byte(hello[:1]), []byte(hello[1:])}, nil, to).Connect(op, receiveCount(x.trace))
			x.start = op.Start
		case connected:
			op := new(reactor.SendOp)
			x.socket.Send([]byte(hello)).Connect(op, receiveCount(x.trace))
			x.start = op.Start
		default:
			op := new(reactor.SendToOp)
			x.socket.SendTo([]byte(hello), to).Connect(op, receiveCount(x.trace))
			x.start = op.Start
		}
		x.intact = func() {
			if closed {
				return
			}
			take()
			var sent []string
			for _, o := range x.results {
				if o.Channel == sendertest.OnValue {
					sent = append(sent, hello)
				}
			}
			if !slices.Equal(arrived, sent) {
				s.t.Errorf("%q were sent, and the receiver has got %q", sent, arrived)
			}
		}
		return x
	}
}

// filler is a datagram that takes room.
const filler = "x"

// datagramReader puts a UDP socket on the stage that a peer sends to.
func datagramReader(s *stage, x *subject) (p *peer, got *[]byte) {
	socket := new(reactor.Socket)
	s.must(socket.Open(s.loop, unix.AF_INET, unix.SOCK_DGRAM, 0))
	s.sockets = append(s.sockets, socket)
	s.must(s.Bind(socket.Fd(), loopback))
	fd, err := s.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	p = &peer{s: s, fd: s.own(fd)}
	s.must(s.Connect(fd, s.address(socket.Fd())))
	got = new([]byte)
	x.socket, x.waits = socket, true
	x.act = func() { p.write(hello) }
	x.intact = func() {
		s.deliver() // what was sent may be under way
		p.received(socket, *got)
	}
	return p, got
}

// sent asserts that a datagram came from the peer.
func (p *peer) sent(from reactor.Address) {
	if at := addrPort(p.s.address(p.fd)); from.AddrPort() != at {
		p.s.t.Errorf("a datagram of %v came from %v", at, from)
	}
}

func recvFrom(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	p, got := datagramReader(s, x)
	buf := make([]byte, 64)
	op := new(reactor.RecvMsgOp)
	x.socket.RecvFrom(buf).Connect(op, &receiver[reactor.Message]{x.trace, func(m reactor.Message) int {
		p.sent(m.From)
		*got = append(*got, buf[:m.N]...)
		return m.N
	}})
	x.start = op.Start
	return x
}

// takeDatagram copies the bytes of a datagram, and releases it.
func takeDatagram(got *[]byte) func(reactor.Datagram) int {
	return func(d reactor.Datagram) int {
		*got = append(*got, d.Bytes()...)
		n := len(d.Bytes())
		d.Release()
		return n
	}
}

func recvFromLease(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	p, got := datagramReader(s, x)
	op, take := new(reactor.RecvFromLeaseOp), takeDatagram(got)
	x.socket.RecvFromLease().Connect(op, &receiver[reactor.Datagram]{x.trace, func(d reactor.Datagram) int {
		p.sent(d.From)
		return take(d)
	}})
	x.start = op.Start
	return x
}

// recvFromMany receives with the credit given, and grants more for each item.
func recvFromMany(credit int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), sequence: true}
		p, got := datagramReader(s, x)
		op, take := new(reactor.RecvMsgManyOp), takeDatagram(got)
		x.socket.RecvFromMany(credit).Connect(op, receiveItems(x.trace, func(d reactor.Datagram) int {
			p.sent(d.From)
			op.Grant(1)
			return take(d)
		}))
		x.start = op.Start
		return x
	}
}

func recvManyDatagrams(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s), sequence: true}
	_, got := datagramReader(s, x)
	op := new(reactor.RecvManyOp)
	x.socket.RecvMany(reactor.Unlimited).Connect(op, receiveItems(x.trace, takeLease(got)))
	x.start = op.Start
	return x
}

// sendTo sends by UDP to an address; if blocked, to the peer of a pair of unix sockets, which has no room.
func sendTo(s *stage, blocked bool) *subject {
	x := &subject{trace: newTrace(s), waits: blocked}
	var p *peer
	var to reactor.Address
	filled := 0
	if blocked {
		x.socket, p = s.localPair(unix.SOCK_DGRAM)
		filled = s.fillWith(x.socket.Fd(), []byte(hello))
		x.act = func() { s.rest(p.fd) }
	} else {
		x.socket, p, to = s.udpPair()
	}
	x.reset = func() { s.disown(p.fd) }
	op := new(reactor.SendToOp)
	x.socket.SendTo([]byte(hello), to).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	x.intact = func() {
		s.deliver()
		sent := filled
		for _, o := range x.results {
			if o.Channel == sendertest.OnValue {
				sent += o.Value
			}
		}
		if got := len(s.rest(p.fd)); got > sent || !blocked && got != sent {
			s.t.Errorf("%d bytes were sent, and the peer has received %d", sent, got)
		}
	}
	return x
}

// udpPair returns a UDP socket of the loop's, and a peer with its address.
func (s *stage) udpPair() (*reactor.Socket, *peer, reactor.Address) {
	fd, err := s.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	s.must(err)
	s.must(s.Bind(fd, loopback))
	to, err := reactor.IPAddress(addrPort(s.address(fd)))
	s.must(err)
	socket := new(reactor.Socket)
	s.must(socket.Open(s.loop, unix.AF_INET, unix.SOCK_DGRAM, 0))
	s.sockets = append(s.sockets, socket)
	return socket, &peer{s: s, fd: s.own(fd)}, to
}
