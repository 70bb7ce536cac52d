//go:build linux

package reactor_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// Signals come while there is credit, and are remembered otherwise.
func TestSignals(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		op, source, res := new(reactor.SignalsOp), new(stop.Source), newResult()
		items := make(chan os.Signal, 10)
		r.do(func() {
			r.Signals(1, syscall.SIGUSR1, syscall.SIGUSR2).Connect(op,
				seqSinkOf(t, res, source, func(s os.Signal) { items <- s }))
			op.Start()
		})
		raise := func(s syscall.Signal) {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Error(err)
			}
		}
		expect := func(want os.Signal) {
			t.Helper()
			if got := <-items; got != want {
				t.Errorf("signal %v has come, want %v", got, want)
			}
		}
		raise(syscall.SIGUSR2)
		expect(syscall.SIGUSR2)
		raise(syscall.SIGUSR1)
		raise(syscall.SIGUSR1)
		raise(syscall.SIGUSR2)
		r.settle()
		if len(items) != 0 {
			t.Error("a signal has come without credit")
		}
		r.do(func() { op.Grant(10) })
		seen := map[os.Signal]int{}
		for seen[syscall.SIGUSR1] == 0 || seen[syscall.SIGUSR2] == 0 {
			seen[<-items]++
		}
		source.RequestStop()
		res.expect(t, "stopped")
		if seen[syscall.SIGUSR1]+len(items) > 2 || seen[syscall.SIGUSR2] > 1 {
			t.Errorf("more have come than were sent: %v and %d", seen, len(items))
		}
		for len(items) != 0 {
			<-items
		}

		// The state can be used again, and a loop that stops ends it.
		res = newResult()
		r.do(func() {
			r.Signals(reactor.Unlimited, syscall.SIGUSR1).Connect(op, seqSinkOf(t, res, nil, func(s os.Signal) { items <- s }))
			op.Start()
		})
		raise(syscall.SIGUSR1)
		expect(syscall.SIGUSR1)
		r.Stop()
		res.expect(t, "stopped")
		if err := r.wait(); err != nil {
			t.Error(err)
		}
	})
}
