//go:build linux

package netconn

import (
	"sync"
	"sync/atomic"
	"time"
)

// deadline is a deadline of a net.Conn for goroutines.
type deadline struct {
	half    *streamHalf // woken when it passes
	expired atomic.Bool
	mu      sync.Mutex
	at      time.Time // zero for none
	timer   *time.Timer
}

func (d *deadline) passed() bool { return d.expired.Load() }

// set moves it. The timer is reused, and may be due early.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	left := time.Until(t)
	if d.expired.Store(!t.IsZero() && left <= 0); d.expired.Load() {
		d.half.wake()
	}
	switch {
	case t.IsZero() || left <= 0:
		if d.timer != nil {
			d.timer.Stop()
		}
	case d.timer == nil:
		d.timer = time.AfterFunc(left, d.due)
	default:
		d.timer.Reset(left)
	}
}

// due wakes the goroutine that waits if the deadline has passed, and else sets the timer again.
func (d *deadline) due() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at.IsZero() {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.expired.Store(true)
	d.half.wake()
}

// stop ends the timer.
func (d *deadline) stop() { d.set(time.Time{}) }
