//go:build linux && !reactordebug

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/uring"
)

// A completion comes twice, the second time when the slot has another operation: it is counted, and that one
// continues. A debug build says immediately that there is a bug.
func TestLateCompletionFindsNothing(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, g := keep(t, kind, 0)
		s, peer := r.pair()
		var nop reactor.NopOp
		var recv reactor.RecvOp
		done := newResult()
		source := new(stop.Source)
		var late uring.CQE
		r.do(func() {
			g.popped = func(cqe *uring.CQE) bool {
				late = *cqe
				return false
			}
			r.Nop().Connect(&nop, sinkOf[struct{}](t, done, nil))
			nop.Start()
		})
		done.expect(t, "{}")
		r.do(func() {
			g.popped = nil
			s.Recv(make([]byte, 8)).Connect(&recv, sinkOf[int](t, done, source))
			recv.Start() // in the same slot
			if slot := late.UserData >> 32; len(g.out) != 1 || g.out[slot<<32|late.UserData&0xff] != 0 {
				t.Logf("in flight: %v, late: %x", g.out, late.UserData)
			}
			g.held = append(g.held, late)
		})
		r.settle()
		done.none(t)
		if n := r.Stats().Stale; n != 1 {
			t.Errorf("%d completions counted as stale, want 1", n)
		}
		r.do(func() { source.RequestStop() })
		done.expect(t, "stopped")
		r.close(s)
		unix.Close(peer)
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}
