//go:build linux

package reactor_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// What is in flight ends with its result, and else stopped; what is started meanwhile is stopped; and then the socket
// is used as before.
func TestQuiesce(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		order, again := newResult(), newResult()
		var (
			many          reactor.RecvManyOp
			poll          reactor.PollManyOp
			send          reactor.SendOp
			first, second reactor.QuiesceOp
			late, recv    reactor.RecvOp
		)
		buf := make([]byte, 8)
		much := make([]byte, 64<<20)
		sent := 0
		r.do(func() {
			s.SendAll(much).Connect(&send, &sink[int]{t: t, value: func(n int) {
				sent = n
				order <- "sent"
			}})
			send.Start()
			s.RecvMany(1).Connect(&many, &quiesced[reactor.Lease]{sink[struct{}]{t: t, stopped: func() {
				late.Start()
				order <- "receives"
			}}})
			many.Start()
			polled := func() { order <- "polls" }
			s.PollMany(unix.POLLPRI).Connect(&poll, &quiesced[uint32]{sink[struct{}]{t: t, stopped: polled}})
			poll.Start()
			s.Recv(buf).Connect(&late, &sink[int]{t: t, stopped: func() { order <- "late" }})
		})
		r.do(func() {
			s.Quiesce().Connect(&first, &sink[struct{}]{t: t, value: func(struct{}) {
				if n := s.Pending(); n != 0 {
					t.Errorf("%d operations are in flight", n)
				}
				order <- "quiet"
			}})
			first.Start()
			s.Quiesce().Connect(&second, &sink[struct{}]{t: t, failed: func(err error) { order <- fmt.Sprint(err) }})
			second.Start()
		})
		seen := map[string]bool{}
		for range 6 {
			text := <-order
			seen[text] = true
			if text == "quiet" && (!seen["sent"] || !seen["receives"] || !seen["polls"] || !seen["late"]) {
				t.Errorf("it is quiet after %v", seen)
			}
		}
		if !seen["device or resource busy"] || sent == 0 || sent >= len(much) {
			t.Errorf("%v, and %d bytes were sent", seen, sent)
		}
		r.do(func() {
			s.Recv(buf).Connect(&recv, sinkOf[int](t, again, nil))
			recv.Start()
		})
		write(t, peer, []byte("abc"))
		again.expect(t, "3")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// A close that begins while a socket is quiesced ends that, and closes it.
func TestCloseWhileQuiescing(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		order := newResult()
		var quiesce, late reactor.QuiesceOp
		var closing reactor.CloseOp
		var recv reactor.RecvOp
		r.do(func() {
			s.Recv(make([]byte, 8)).Connect(&recv, &sink[int]{t: t, failed: func(error) { order <- "recv" }})
			recv.Start()
			s.Quiesce().Connect(&quiesce, &sink[struct{}]{t: t, failed: func(err error) { order <- err.Error() }})
			quiesce.Start()
			s.Close().Connect(&closing, &sink[struct{}]{t: t, value: func(struct{}) { order <- "closed" }})
			closing.Start()
			s.Quiesce().Connect(&late, &sink[struct{}]{t: t, failed: func(err error) { order <- err.Error() }})
			late.Start()
		})
		seen := map[string]int{}
		for range 4 {
			seen[<-order]++
		}
		if seen["recv"] != 1 || seen["use of a closed descriptor"] != 2 || seen["closed"] != 1 {
			t.Error(seen)
		}
		unix.Close(peer)
		r.end()
	})
}

// quiesced is the receiver of a sequence whose items do not matter.
type quiesced[T any] struct{ sink[struct{}] }

func (q *quiesced[T]) SetNext(T) {}
