//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// BenchmarkClose closes ten thousand idle sockets with a receive in flight each, as a server does that sheds its
// connections. The figures are for all of them, and ns/close for one.
func BenchmarkClose(b *testing.B) {
	const many = 10_000
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		r := run(b, reactor.LoopConfig{Ring: kind})
		sockets := make([]reactor.Socket, many)
		recvs := make([]reactor.RecvManyOp, many)
		closes := make([]reactor.CloseOp, many)
		done := make(chan bool, 1)
		left := 0
		refused := seqSinkOf[reactor.Lease](b, nil, nil, nil)
		refused.failed = func(error) {}
		closed := &sink[struct{}]{t: b, value: func(struct{}) {
			if left--; left == 0 {
				done <- true
			}
		}}
		var took time.Duration
		for range b.N {
			r.do(func() {
				for i := range sockets {
					s := &sockets[i]
					if err := s.Open(r.Loop, unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
						b.Error(err)
						return
					}
					s.RecvMany(reactor.Unlimited).Connect(&recvs[i], refused)
					recvs[i].Start()
				}
			})
			r.settle()
			began := time.Now()
			r.do(func() {
				left = many
				for i := range sockets {
					sockets[i].Close().Connect(&closes[i], closed)
					closes[i].Start()
				}
			})
			<-done
			took += time.Since(began)
		}
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/many, "ns/close")
		b.ReportMetric(0, "ns/op")
		r.end()
	})
}
