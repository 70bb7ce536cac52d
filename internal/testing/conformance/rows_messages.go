package conformance

import (
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// messages are the rows of messages on connections, and of zero-copy sends.
var messages = []row{
	{"recv msg", true, recvMsg, receiving},
	{"recv msg many", true, recvMsgMany(2), receivingMany},
	{"recv msg many, unlimited", true, recvMsgMany(reactor.Unlimited), receivingMany},
	{"send msg", true, sendMsg, sendingAll},
	{"send zero-copy", true, sendZC, sending.with(cells{
		resetMeanwhile: fails(unix.EPIPE), // it waits on a local socket, which has no RST and has it copied
	})},
}

func recvMsg(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	got := reader(s, x)
	one, two := make([]byte, 2), make([]byte, 64)
	op := new(reactor.RecvMsgOp)
	take := func(m reactor.Message) int {
		*got = append(append(*got, one[:min(m.N, 2)]...), two[:max(m.N-2, 0)]...)
		if !m.From.IsZero() || len(m.Control) != 0 {
			s.t.Errorf("beside the bytes of a connection came %+v", m)
		}
		return m.N
	}
	x.socket.RecvMsg([][]byte{one, two}, make([]byte, 64), 0).Connect(op, &receiver[reactor.Message]{x.trace, take})
	x.start = op.Start
	return x
}

// recvMsgMany receives with the credit given, and grants more for each item.
func recvMsgMany(credit int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s), sequence: true}
		got := reader(s, x)
		op, take := new(reactor.RecvMsgManyOp), takeDatagram(got)
		x.socket.RecvMsgMany(credit, 16).Connect(op, receiveItems(x.trace, func(d reactor.Datagram) int {
			op.Grant(1)
			return take(d)
		}))
		x.start = op.Start
		return x
	}
}

func sendMsg(s *stage, blocked bool) *subject {
	x, data := bulkWriter(s, blocked)
	op := new(reactor.SendMsgOp)
	x.socket.SendMsg(pieces(data), nil, reactor.Address{}).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	x.again = func() {
		op.Reset()
		op.Add([]byte(hello))
		op.Start()
	}
	return x
}

func sendZC(s *stage, blocked bool) *subject {
	socket, p := s.fillable(blocked)
	x := fullWriter(s, blocked, socket, p)
	op := new(reactor.SendZCOp)
	socket.SendZC([]byte(hello)).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}
