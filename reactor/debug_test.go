//go:build reactordebug

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no assertion failed", what)
		}
	}()
	f()
}

// What programs must not do is noticed in a debug build.
func TestDutiesAreAsserted(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.Kind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer, lease := r.borrow()
		ended := newResult()
		var recv reactor.RecvOp
		var many reactor.RecvManyOp
		var sleep reactor.SleepOp
		var closing reactor.CloseOp
		s.Recv(make([]byte, 1)).Connect(&recv, sinkOf[int](t, ended, nil))
		s.RecvMany(1).Connect(&many, seqSinkOf(t, ended, nil, func(reactor.Lease) {}))
		r.SleepFor(time.Hour).Connect(&sleep, sinkOf[struct{}](t, ended, nil))
		s.Close().Connect(&closing, sinkOf[struct{}](t, ended, nil))
		mustPanic(t, "start on another thread", recv.Start)
		mustPanic(t, "start of a sequence on another thread", many.Start)
		mustPanic(t, "close on another thread", closing.Start)
		mustPanic(t, "sleep on another thread", sleep.Start)
		mustPanic(t, "release on another thread", lease.Release)
		r.do(func() {
			recv.Start()
			many.Start()
			mustPanic(t, "two starts", recv.Start)
			mustPanic(t, "two starts of a sequence", many.Start)
			mustPanic(t, "a new descriptor under operations", func() { s.Init(r.Loop, 0) })
			lease.Release()
			mustPanic(t, "two releases", lease.Release)
			closing.Start()
			mustPanic(t, "two closes with one operation state", closing.Start)
		})
		got := map[string]int{}
		for range 3 {
			got[<-ended]++
		}
		if got["{}"] != 1 || got["error: use of a closed descriptor"] != 2 {
			t.Errorf("%v", got)
		}
		unix.Close(peer)
		r.end()
	})
}
