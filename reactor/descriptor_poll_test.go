//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// Polling runs next to the sequence that receives, and next to another of its kind.
func TestPollManyBesideRecvMany(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		var (
			polls  [2]reactor.PollManyOp
			recv   reactor.RecvManyOp
			source stop.Source
		)
		hungUp, over := newResult(), newResult()
		r.do(func() {
			for i := range polls {
				s.PollMany(unix.POLLRDHUP).Connect(&polls[i], seqSinkOf(t, over, &source, func(events uint32) {
					if events&unix.POLLRDHUP != 0 {
						hungUp <- "hung up"
					}
				}))
				polls[i].Start()
			}
			s.RecvMany(reactor.Unlimited).Connect(&recv, seqSinkOf(t, over, nil, func(lease reactor.Lease) { lease.Release() }))
			recv.Start()
		})
		r.settle()
		write(t, peer, []byte("hello"))
		unix.Close(peer)
		hungUp.expect(t, "hung up")
		hungUp.expect(t, "hung up")
		over.expect(t, "{}")
		r.do(func() { source.RequestStop() })
		over.expect(t, "stopped")
		over.expect(t, "stopped")
		r.close(s)
		r.end()
	})
}
