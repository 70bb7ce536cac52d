package reactor_test

import (
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// A send that goes out in many parts is stopped by another thread: its entry is being filled again and
// again meanwhile.
func TestStopOnAnotherThreadDuringPartialSends(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		h.push = func(sqe *uring.SQE) {
			if sqe.Opcode == uring.OpSend {
				sqe.Len = min(sqe.Len, 16)
			}
		}
		r := runLoop(t, l)
		s, peer := r.pair()
		read := make(chan int)
		go func() { read <- drain(peer) }()
		data := make([]byte, 1<<20)
		total := 0
		for range 20 {
			var source stop.Source
			done := newResult()
			op := new(reactor.SendOp)
			r.do(func() {
				s.SendAll(data).Connect(op, &sink[int]{t: t, source: &source,
					value:   func(n int) { total += n; done <- "" },
					stopped: func() { done <- "" },
				})
				op.Start()
			})
			time.Sleep(time.Millisecond)
			source.RequestStop()
			done.expect(t, "")
		}
		r.close(s)
		if got := <-read; got != total || total == 0 {
			t.Errorf("%d bytes were sent, and the peer has got %d", total, got)
		}
		r.end()
		unix.Close(peer)
	})
}

// Sleeps are stopped by another thread while the loop starts more and more operations.
func TestStopOnAnotherThreadWhileSlotsGrow(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		const n = 4096
		r := run(t, reactor.LoopConfig{Ring: kind})
		ops, sources := make([]reactor.SleepOp, n), make([]stop.Source, n)
		done := make(result, n)
		var started atomic.Int32
		stopped := make(chan struct{})
		go func() {
			for i := range sources {
				for int(started.Load()) <= i {
				}
				sources[i].RequestStop()
			}
			close(stopped)
		}()
		r.do(func() {
			for i := range ops {
				r.SleepFor(time.Hour).Connect(&ops[i], sinkOf[struct{}](t, done, &sources[i]))
				ops[i].Start()
				started.Add(1)
			}
		})
		<-stopped
		for range n {
			done.expect(t, "stopped")
		}
		r.end()
	})
}
