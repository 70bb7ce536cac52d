//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// cell is the bounds of the only duration in d.
func cell(t *testing.T, d reactor.Durations) (above, upTo time.Duration) {
	t.Helper()
	if d.Count() != 1 || len(d.Counts) != len(d.Bounds)+1 {
		t.Fatalf("not one duration: %v, %v", d, d.Counts)
	}
	for i, n := range d.Counts {
		if n == 0 {
			above = d.Bounds[i]
			continue
		}
		if i == len(d.Bounds) {
			return above, 1<<63 - 1
		}
		return above, d.Bounds[i]
	}
	return 0, 0
}

// A callback takes 30 ms. A timer was due 10 ms after it began.
func TestDurations(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		expired := make(chan bool, 1)
		var timer reactor.Timer
		timer.Init(onTimer(func(int64) { expired <- true }))
		r.do(func() {
			r.SetTimer(&timer, r.Clock()+int64(10*time.Millisecond))
			v.time.Add(int64(30 * time.Millisecond))
		})
		<-expired
		r.end()
		s := r.Stats()
		if above, upTo := cell(t, s.SlowTurns); s.SlowTurns.Sum != 30*time.Millisecond || above >= 30*time.Millisecond ||
			upTo < 30*time.Millisecond || upTo > 45*time.Millisecond {
			t.Errorf("a turn of 30 ms is counted as %v, between %v and %v", s.SlowTurns, above, upTo)
		}
		if above, upTo := cell(t, s.Lateness); s.Lateness.Sum != 20*time.Millisecond || above >= 20*time.Millisecond ||
			upTo < 20*time.Millisecond || upTo > 30*time.Millisecond {
			t.Errorf("a timer that is 20 ms late is counted as %v, between %v and %v", s.Lateness, above, upTo)
		}
	})
}

// A turn of a millisecond is slow, a shorter one is not.
func TestSlowTurnsBegin(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r, v := runVirtual(t, kind)
		r.do(func() { v.time.Add(int64(time.Millisecond) - 1) })
		r.do(func() {})
		if n := r.Stats().SlowTurns.Count(); n != 0 {
			t.Errorf("%d slow turns, want none", n)
		}
		r.do(func() { v.time.Add(int64(time.Millisecond)) })
		r.end()
		if n := r.Stats().SlowTurns.Count(); n != 1 {
			t.Errorf("%d slow turns, want one", n)
		}
	})
}
