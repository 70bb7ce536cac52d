//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// An operation that is started while its socket is being closed completes before the close does, so
// that the receiver of the close may use the memory again.
func TestCloseJoinsLatecomers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		order := newResult()
		var closing reactor.CloseOp
		var first, late, later reactor.RecvOp
		buf := make([]byte, 8)
		r.do(func() {
			note := func(what string, then func()) *sink[int] {
				return &sink[int]{t: t, failed: func(error) {
					order <- what
					if then != nil {
						then()
					}
				}}
			}
			s.Recv(buf).Connect(&later, note("later", nil))
			s.Recv(buf).Connect(&late, note("late", later.Start))
			s.Recv(buf).Connect(&first, note("first", late.Start))
			first.Start()
			s.Close().Connect(&closing, &sink[struct{}]{t: t, value: func(struct{}) {
				if n := s.Pending(); n != 0 {
					t.Errorf("closed with %d operations in flight", n)
				}
				order <- "closed"
			}})
			closing.Start()
		})
		for _, want := range []string{"first", "late", "later", "closed"} {
			order.expect(t, want)
		}
		r.end()
		unix.Close(peer)
	})
}

// An operation state that is started again after its socket has got another descriptor uses that one.
func TestSocketIsUsedAgain(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		done := newResult()
		buf := make([]byte, 8)
		var recv reactor.RecvOp
		r.do(func() {
			in := sinkOf[int](t, done, nil)
			s.Recv(buf).Connect(&recv, in)
			recv.Start()
		})
		write(t, peer, []byte("one"))
		done.expect(t, "3")
		r.close(s)
		unix.Close(peer)
		if s.Fd() != -1 {
			t.Errorf("a closed socket has descriptor %d", s.Fd())
		}
		taken, err := unix.Eventfd(0, unix.EFD_CLOEXEC) // takes the old number
		if err != nil {
			t.Fatal(err)
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		peer = fds[1]
		r.do(func() {
			s.Init(r.Loop, fds[0])
			recv.Start()
		})
		write(t, peer, []byte("three"))
		done.expect(t, "5")
		r.close(s)
		unix.Close(peer)
		unix.Close(taken)
		r.end()
	})
}

// Close closes each kind of descriptor once, and refuses to do it again.
func TestCloseTwice(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		done := newResult()
		var ops [3]reactor.CloseOp
		r.do(func() {
			for i := range ops {
				s.Close().Connect(&ops[i], sinkOf[struct{}](t, done, nil))
			}
			ops[0].Start()
			ops[1].Start()
		})
		got := map[string]int{}
		for range 2 {
			got[<-done]++
		}
		r.do(func() { ops[2].Start() })
		got[<-done]++
		if got["{}"] != 1 || got["error: use of a closed descriptor"] != 2 {
			t.Errorf("%v", got)
		}
		unix.Close(peer)
		r.end()
	})
}

// An operation that takes long to be cancelled holds up the close: no descriptor is closed under one.
func TestCloseWaitsForTheSlow(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		var held []uring.CQE // the loop's
		h.pop = func(cqe *uring.CQE) bool {
			if cqe.Res == -int32(unix.ECANCELED) {
				held = append(held, *cqe)
				return false
			}
			return true
		}
		r := runLoop(t, l)
		s, peer := r.pair()
		received, closed := newResult(), newResult()
		var recv reactor.RecvOp
		var closing reactor.CloseOp
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, received, nil))
			recv.Start()
		})
		r.settle()
		fd := s.Fd()
		r.do(func() {
			s.Close().Connect(&closing, sinkOf[struct{}](t, closed, nil))
			closing.Start()
		})
		r.settle()
		closed.none(t)
		received.none(t)
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			t.Errorf("the descriptor: %v", err)
		}
		r.do(func() {
			if len(held) != 1 {
				t.Errorf("%d operations were cancelled", len(held))
			}
			h.extra = held
		})
		r.settle()
		received.expect(t, "error: use of a closed descriptor")
		closed.expect(t, "{}")
		unix.Close(peer)
		r.end()
	})
}
