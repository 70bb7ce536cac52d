//go:build linux

package reactor_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// virtual is a ring and a system with a virtual clock. The clock advances by itself while the loop would sleep until a
// timer, and otherwise only when a test says so.
type virtual struct {
	host.Ring
	time atomic.Int64
	// pause, if not nil, is called once instead of sleeping. The process is stopped for the time that it returns, and
	// the ring is not checked meanwhile.
	pause func() time.Duration
	// next is a completion that Enter has found, if there is one.
	next  uring.CQE
	found bool
}

func (v *virtual) Enter(timeout time.Duration) error {
	if timeout <= 0 {
		return v.Ring.Enter(timeout)
	}
	if pause := v.pause; pause != nil {
		v.pause = nil
		v.time.Add(int64(pause()))
		return nil
	}
	if err := v.Ring.Enter(0); err != nil {
		return err
	}
	if v.found = v.found || v.Ring.Pop(&v.next); !v.found {
		v.time.Add(int64(timeout))
	}
	return nil
}

func (v *virtual) Pop(cqe *uring.CQE) bool {
	if v.found {
		*cqe, v.found = v.next, false
		return true
	}
	return v.Ring.Pop(cqe)
}

type virtualSystem struct {
	host.System
	time *atomic.Int64
}

func (s virtualSystem) Clock() int64 { return s.time.Load() }

// runVirtual runs a loop in virtual time, which begins at 1.
func runVirtual(t testing.TB, kind reactor.RingKind) (*running, *virtual) {
	t.Helper()
	return runVirtualOn(t, newRing(t, kind), reactor.LoopConfig{})
}

// runVirtualOn is runVirtual on a given ring.
func runVirtualOn(t testing.TB, ring host.Ring, cfg reactor.LoopConfig) (*running, *virtual) {
	t.Helper()
	v := &virtual{Ring: ring}
	v.time.Store(1)
	cfg.DrainTimeout, cfg.TimerSlack = patience, -1
	l, err := reactor.NewLoopOn(v, virtualSystem{host.Process(), &v.time}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return runLoop(t, l), v
}

// passes waits until the virtual clock has advanced by d, which it does only while the loop sleeps until timers.
func (v *virtual) passes(t testing.TB, d time.Duration) {
	t.Helper()
	until := v.time.Load() + int64(d)
	for deadline := time.Now().Add(patience); v.time.Load() < until; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the loop does not sleep")
		}
	}
}
