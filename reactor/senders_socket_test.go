//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/sendertest"
)

func TestSocketSendersKeepTheirContract(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		a, at := r.udp()
		s, peer := r.pair()
		buf := make([]byte, 8)
		check[reactor.Message, reactor.RecvMsgOp](r, a.RecvFrom(buf), endless[reactor.Message]())
		check[reactor.Message, reactor.RecvMsgOp](r,
			s.RecvMsg([][]byte{buf[:1], buf[1:]}, nil, 0), endless[reactor.Message]())
		check[reactor.Datagram, reactor.RecvFromLeaseOp](r, a.RecvFromLease(), endless[reactor.Datagram]())
		check[reactor.Rights, reactor.RecvFDsOp](r, s.RecvFDs(buf, 2), endless[reactor.Rights]())
		check[int, reactor.RecvOp](r, s.RecvFlags(buf, unix.MSG_WAITALL), endless[int]())
		sent := sendertest.Options[int]{Restartable: true}
		check[int, reactor.SendToOp](r, a.SendTo(buf, at), sent)
		check[int, reactor.SendMsgOp](r, s.SendMsg([][]byte{buf}, nil, reactor.Address{}), sent)
		check[int, reactor.SendFDsOp](r, s.SendFDs(buf, []int{peer}), sent)
		check[int, reactor.SendZCOp](r, s.SendZC(buf), sent)
		check[struct{}, reactor.DialOp](r, a.DialTo(at), sendertest.Options[struct{}]{Restartable: true})
		unreached := sendertest.Options[*reactor.Socket]{Restartable: true}
		check[*reactor.Socket, reactor.DialerOp](r, reactor.Dial(r.Loop, "unix", "@"+t.Name()), unreached)
		byName := reactor.Dialer{Resolver: always("127.0.0.1", "::1")}
		check[*reactor.Socket, reactor.DialerOp](r, byName.Dial(r.Loop, "tcp", "two.test:0"), unreached)
		r.close(a, s)
		unix.Close(peer)
		r.end()
	})
}

// endless is what there is to know of a receive for which nothing arrives.
func endless[T any]() sendertest.Options[T] {
	return sendertest.Options[T]{Restartable: true, Endless: true, Accept: stoppedOnly[T]}
}
