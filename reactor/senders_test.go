//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

// check holds a sender of the loop to the contract of all senders: see package sendertest, which among
// other things overwrites the operation state inside the completion.
func check[T, O any, S sender.Sender[T, O]](r *running, s S, o sendertest.Options[T]) {
	r.t.Helper()
	tid := 0
	r.do(func() { tid = unix.Gettid() })
	o.Do, o.Where = r.do, func() bool { return unix.Gettid() == tid }
	sendertest.Check[T, O](r.t, s, o)
}

func TestSendersKeepTheirContract(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		ln := r.listen()
		value := sendertest.Options[struct{}]{Restartable: true}
		endless := sendertest.Options[int]{Restartable: true, Endless: true, Accept: stoppedOnly[int]}
		check[struct{}, reactor.NopOp](r, r.Nop(), value)
		check[struct{}, reactor.SleepOp](r, r.SleepFor(time.Microsecond), value)
		check[struct{}, reactor.SleepOp](r, r.SleepFor(time.Hour),
			sendertest.Options[struct{}]{Restartable: true, Endless: true, Accept: stoppedOnly[struct{}]})
		check[struct{}, reactor.ShutdownOp](r, s.Shutdown(unix.SHUT_WR), value)
		check[uint32, reactor.PollOp](r, s.Poll(unix.POLLOUT), sendertest.Options[uint32]{Restartable: true})
		check[int, reactor.RecvOp](r, s.Recv(make([]byte, 8)), endless)
		check[int, reactor.AcceptOp](r, ln.Accept(), endless)
		check[reactor.Lease, reactor.RecvLeaseOp](r, s.RecvLease(),
			sendertest.Options[reactor.Lease]{Restartable: true, Endless: true, Accept: stoppedOnly[reactor.Lease]})
		r.close(s, &ln.Socket)
		unix.Close(peer)
		r.end()
	})
}

func stoppedOnly[T any](_ sendertest.Point, x sendertest.Result[T]) bool {
	return x.Channel == sendertest.OnStopped
}
