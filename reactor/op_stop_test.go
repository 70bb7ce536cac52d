//go:build linux

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
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
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
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
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

// Stop is requested just when the entry is being queued: after the token was checked. The cancel must
// not get ahead of its target.
func TestStopWhileBeingQueued(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		var source stop.Source
		h.push = func(sqe *uring.SQE) {
			if sqe.Opcode == uring.OpRecv {
				source.RequestStop()
			}
		}
		r := runLoop(t, l)
		s, peer := r.pair()
		done := newResult()
		var op reactor.RecvOp
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(&op, sinkOf[int](t, done, &source))
			op.Start()
			done.none(t)
		})
		done.expect(t, "stopped")
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// What waits, for credit or because it backs off, completes when it is asked to stop, but not inside of
// that.
func TestStopWhileDormant(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		l, h := hook(t, kind, reactor.LoopConfig{})
		fail := failing(h, unix.EMFILE)
		r := runLoop(t, l)
		s, peer := r.pair()
		ln := r.listen()
		noCredit, rest := newResult(), newResult()
		rested := newResult()
		var source stop.Source
		var recv reactor.RecvManyOp
		var accept reactor.AcceptManyOp
		r.do(func() {
			fail.Store(true)
			s.RecvMany(1).Connect(&recv, seqSinkOf(t, noCredit, &source, func(l reactor.Lease) { l.Release() }))
			recv.Start()
			in := seqSinkOf(t, rest, &source, func(fd int) { t.Errorf("accepted %d", fd) })
			in.backsOff = func(error) { rested <- "backs off" }
			ln.AcceptMany(1).Connect(&accept, in)
			accept.Start()
		})
		write(t, peer, []byte("x"))
		ln.dial()
		rested.expect(t, "backs off")
		r.settle()
		r.do(func() {
			source.RequestStop()
			noCredit.none(t)
			rest.none(t)
		})
		noCredit.expect(t, "stopped")
		rest.expect(t, "stopped")
		r.close(s, &ln.Socket)
		ln.hangUp()
		unix.Close(peer)
		r.end()
	})
}
