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
		go func() {
			buf := make([]byte, 1<<16)
			for n, err := 1, error(nil); n > 0 || err == unix.EINTR; {
				n, err = unix.Read(peer, buf)
			}
		}()
		data := make([]byte, 1<<20)
		for range 20 {
			var source stop.Source
			done := newResult()
			var sent atomic.Int64
			op := new(reactor.SendOp)
			in := sinkOf[int](t, done, &source)
			in.value = func(n int) { sent.Store(int64(n)); done <- "" }
			r.do(func() {
				s.SendAll(data).Connect(op, in)
				op.Start()
			})
			time.Sleep(time.Millisecond)
			source.RequestStop()
			done.expect(t, "")
			if n := sent.Load(); n == 0 || n == int64(len(data)) {
				t.Logf("sent %d bytes", n)
			}
		}
		r.close(s)
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
