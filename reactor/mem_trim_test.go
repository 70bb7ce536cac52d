//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// After a burst an idle loop on the epoll ring keeps memory for its window only: also the buffers in the ring give
// theirs back. Then it receives as before.
func TestIdleRingGivesBuffersBack(t *testing.T) {
	const burst = 32
	r := run(t, reactor.LoopConfig{
		Ring: reactor.Epoll, Buffers: reactor.BufferConfig{Size: 4096, Window: 1, Limit: 64},
	})
	for range 2 {
		var sockets []*reactor.Socket
		var peers []int
		received := newResult()
		ops := make([]reactor.RecvLeaseOp, burst)
		for range burst {
			s, peer := r.pair()
			sockets, peers = append(sockets, s), append(peers, peer)
		}
		r.do(func() { // all of them receive in one turn: the window grows
			for i, s := range sockets {
				s.RecvLease().Connect(&ops[i], &sink[reactor.Lease]{t: t, value: func(l reactor.Lease) {
					l.Release()
					received <- "released"
				}})
				if _, err := unix.Write(peers[i], []byte("x")); err != nil {
					t.Error(err)
				}
				ops[i].Start()
			}
		})
		for range burst {
			<-received
		}
		r.do(func() {
			if n := r.ResidentBuffers(); n < 4 {
				t.Errorf("the window did not grow: %d buffers", n)
			}
			for range 8 {
				r.TrimBuffers()
			}
			if n := r.ResidentBuffers(); n > 1 {
				t.Errorf("%d buffers have kept their memory", n)
			}
		})
		r.close(sockets...)
		for _, peer := range peers {
			unix.Close(peer)
		}
	}
	r.end()
}
