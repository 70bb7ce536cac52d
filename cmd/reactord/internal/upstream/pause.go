package upstream

import (
	"math"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// PauseWait is how long a connection of a paused backend waits at most, if the backend has no hold.
const PauseWait = 30 * time.Second

// pause is an operator's pause of a backend: none of its servers gets a new connection. It is immutable.
type pause struct {
	ends time.Time
	at   int64 // the same on the loop's clock
}

// inheritedPause is a pause that the previous process has handed over.
type inheritedPause struct {
	ends time.Time
	used atomic.Bool // the backend is in force: one of the same name that comes later is not paused
}

// Pause pauses a backend in force for a time, from now on, and reports whether there is that backend. A pause that
// lasts already ends at the new time. It is called on the control loop.
func (d *Directory) Pause(backend string, length time.Duration) bool {
	m := (*d.inForce.Load())[backend]
	if m == nil {
		return false
	}
	b := m.backend
	p := &pause{time.Now().Add(length), b.now() + int64(length)}
	b.paused.Store(p)
	d.Loop.SetTimer(&b.pauseEnd, p.at)
	d.Log.Warn("backend is paused: new connections wait", zap.String("backend", b.Name), zap.Duration("for", length))
	return true
}

// Resume ends the pause of a backend in force, if it is paused, and reports whether there is that backend. It may be
// called from any goroutine, also when the control loop has ended.
func (d *Directory) Resume(backend string) bool {
	m := (*d.inForce.Load())[backend]
	if m == nil {
		return false
	}
	b := m.backend
	if b.paused.Swap(nil) != nil {
		d.Log.Info("backend is resumed", zap.String("backend", backend))
		b.changed()
	}
	return true
}

// DetachPauses lets pauses end at their time although the control loop ends, because connections of other loops may
// wait. It is called on the control loop. A directory with a Seed, whose clock is simulated, leaves them as they are.
func (d *Directory) DetachPauses() {
	for b := range d.All() {
		if p := b.paused.Load(); p != nil && d.Seed == 0 {
			time.AfterFunc(time.Until(p.ends), func() { b.expirePause(p) })
		}
	}
}

// Paused reports whether an operator has paused the backend. It may be called from any thread.
func (b *Backend) Paused() bool { return b.paused.Load() != nil }

// pauseLeft returns how long the pause lasts yet, at least a millisecond; 0: the backend is not paused.
func (b *Backend) pauseLeft() time.Duration {
	p := b.paused.Load()
	if p == nil {
		return 0
	}
	return max(time.Until(p.ends), time.Millisecond)
}

// expirePause ends a pause that nobody has ended, and lets the connections that wait go on.
func (b *Backend) expirePause(p *pause) {
	if b.paused.CompareAndSwap(p, nil) {
		b.directory.Log.Warn("pause has expired: nobody has resumed the backend", zap.String("backend", b.Name))
		b.changed()
	}
}

// inheritPause begins a new backend with the pause of the previous process. Its end is set by [Backend.resumePause].
func (b *Backend) inheritPause() {
	if p := b.directory.inheritedPause(b.Name); p != nil {
		b.paused.Store(&pause{p.ends, math.MaxInt64})
	}
}

// resumePause sets when a pause of the previous process ends, when the backend is put in force.
func (b *Backend) resumePause() {
	p := b.directory.pauses[b.Name]
	if p == nil || p.used.Swap(true) {
		return
	}
	if was := b.paused.Load(); was != nil {
		next := &pause{was.ends, b.directory.Loop.Clock() + int64(time.Until(was.ends))}
		if b.paused.CompareAndSwap(was, next) {
			b.directory.Loop.SetTimer(&b.pauseEnd, next.at)
		}
	}
}

// inheritedPause returns the pause of a backend that the previous process has handed over, or nil.
func (d *Directory) inheritedPause(backend string) *inheritedPause {
	p := d.pauses[backend]
	if p == nil || p.used.Load() || time.Until(p.ends) <= 0 {
		return nil
	}
	return p
}

// pauser lets a backend handle the timer of its pause.
type pauser Backend

// OnTimer ends a pause whose time has passed.
func (t *pauser) OnTimer(now int64) {
	b := (*Backend)(t)
	if p := b.paused.Load(); p != nil && now >= p.at {
		b.expirePause(p)
	}
}
