package reactor_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/reactor"
)

// virtual is a ring and a system whose time passes by itself while the loop would sleep until a timer, and
// otherwise only when a test says so.
type virtual struct {
	host.Ring
	time atomic.Int64
	// pause, if not nil, is called once instead of sleeping. The process is stopped for the time that it returns,
	// and the ring is not looked at.
	pause func() time.Duration
}

func (v *virtual) Enter(timeout time.Duration) error {
	if pause := v.pause; timeout > 0 && pause != nil {
		v.pause = nil
		v.time.Add(int64(pause()))
		return nil
	}
	if timeout > 0 {
		v.time.Add(int64(timeout))
		timeout = 0
	}
	return v.Ring.Enter(timeout)
}

type virtualSystem struct {
	host.System
	time *atomic.Int64
}

func (s virtualSystem) Clock() int64 { return s.time.Load() }

// runVirtual runs a loop in virtual time, which begins at 1.
func runVirtual(t testing.TB, kind reactor.RingKind) (*running, *virtual) {
	t.Helper()
	v := &virtual{Ring: newRing(t, kind)}
	v.time.Store(1)
	l, err := reactor.NewLoopOn(v, virtualSystem{host.Process(), &v.time}, reactor.LoopConfig{DrainTimeout: patience, TimerSlack: -1})
	if err != nil {
		t.Fatal(err)
	}
	return runLoop(t, l), v
}
