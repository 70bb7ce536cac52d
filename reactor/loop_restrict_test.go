//go:build linux

package reactor_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// An operation that a loop may not submit fails and says what is missing; what the loop needs itself always works.
func TestRestrict(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Restrict: uring.NewOpSet(uring.OpSend)})
		defer r.end()
		caps := r.Caps()
		want := uring.NewOpSet(uring.OpSend, uring.OpPollAdd, uring.OpAsyncCancel, uring.OpClose, uring.OpNop)
		if caps.Ops != want {
			t.Errorf("the loop has %v, want %v", caps.Ops, want)
		}
		if caps.Restricted != (kind == reactor.IOUring) {
			t.Errorf("the ring is restricted: %v", caps.Restricted)
		}
		received, sent := make(chan error, 1), make(chan error, 1)
		own, peer := r.pair()
		defer unix.Close(peer)
		recv, send, buf := new(reactor.RecvOp), new(reactor.SendOp), []byte("x")
		r.do(func() {
			own.Recv(buf).Connect(recv, &sink[int]{t: t, failed: func(err error) { received <- err }})
			recv.Start()
			own.Send(buf).Connect(send, &sink[int]{t: t, value: func(int) { sent <- nil }})
			send.Start()
		})
		if err := <-received; !errors.Is(err, uring.ErrNotSupported) {
			t.Errorf("receive: %v", err)
		}
		if err := <-sent; err != nil {
			t.Errorf("send: %v", err)
		}
		r.close(own)
	})
}

// A loop that is restricted to all that this package submits lacks nothing.
func TestRestrictToAll(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		free, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind})
		if err != nil {
			t.Fatal(err)
		}
		l, err := reactor.NewLoop(reactor.LoopConfig{Ring: kind, Restrict: uring.AllOps()})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := l.Caps().Ops, free.Caps().Ops.Intersection(uring.AllOps()); got != want {
			t.Errorf("the loop has %v, want %v", got, want)
		}
		if err := errors.Join(l.Discard(), free.Discard()); err != nil {
			t.Error(err)
		}
	})
}

// A simulated ring refuses as the kernel does.
func TestRestrictSimulated(t *testing.T) {
	ring := simring.New(1, nil).NewRing()
	l, err := reactor.NewLoopOn(ring, nil, reactor.LoopConfig{Restrict: uring.NewOpSet(uring.OpSend)})
	if err != nil {
		t.Fatal(err)
	}
	if caps := l.Caps(); !caps.Restricted || caps.Ops.Has(uring.OpRecv) || !caps.Ops.Has(uring.OpSend) {
		t.Errorf("Caps: %+v", caps)
	}
	if err := l.Discard(); err != nil {
		t.Error(err)
	}
}
