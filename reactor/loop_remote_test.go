//go:build linux

package reactor_test

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// All work of a thread is run in the order in which the thread has posted it, whether the loop is busy or asleep.
func TestWorkIsRunInOrder(t *testing.T) {
	const threads, works = 3, 200
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		for _, busy := range []bool{false, true} {
			var last [threads]int // the loop's
			var wg sync.WaitGroup
			post := func(thread int) {
				for i := 1; i <= works; i++ {
					r.Enqueue(&newWork(func() {
						if last[thread]++; last[thread] != i {
							t.Errorf("work %d was run as number %d", i, last[thread])
						}
					}, nil).Work)
				}
				wg.Done()
			}
			wg.Add(threads)
			begin := func() {
				for thread := range threads {
					go post(thread)
				}
			}
			if busy {
				r.do(func() { begin(); wg.Wait() })
			} else {
				begin()
				wg.Wait()
			}
			r.do(func() {
				for thread, n := range last {
					if n != works {
						t.Errorf("%d works of thread %d were run of %d", n, thread, works)
					}
				}
			})
		}
		r.end()
	})
}

// Operations that finish without the ring and start themselves again do not starve other work.
func TestEndlessReadinessDoesNotStarve(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer := r.pair()
		stop := false
		var op reactor.ShutdownOp
		r.do(func() {
			s.Shutdown(unix.SHUT_WR).Connect(&op, &sink[struct{}]{t: t, value: func(struct{}) {
				if !stop {
					op.Start()
				}
			}})
			op.Start()
		})
		r.do(func() { stop = true })
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}

// Work that posts itself does not starve other work.
func TestEndlessWorkDoesNotStarve(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		stop := false
		var w *work
		w = newWork(func() {
			if !stop {
				r.Enqueue(&w.Work)
			}
		}, nil)
		r.Enqueue(&w.Work)
		done := newResult()
		var op reactor.SleepOp
		var nop reactor.NopOp
		r.do(func() {
			r.SleepFor(1).Connect(&op, sinkOf[struct{}](t, done, nil))
			op.Start()
			r.Nop().Connect(&nop, sinkOf[struct{}](t, done, nil))
			nop.Start()
		})
		done.expect(t, "{}")
		done.expect(t, "{}")
		r.do(func() { stop = true })
		r.end()
	})
}
