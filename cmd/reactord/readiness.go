package main

import (
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"go.uber.org/zap"
)

// withdrawal is a request that concerns whether the process is ready. All of them are carried out by one goroutine:
// see [daemon.serve].
type withdrawal struct {
	who  string // has requested it, for people
	kind withdrawalKind
}

type withdrawalKind uint8

const (
	drainNow withdrawalKind = iota // not ready; after drain.delay, the process drains
	hold                           // not ready, and nothing else until it is undone, or drains
	undo                           // ready again
)

// errTooLate is the error of an undo that comes after the process has stopped accepting.
var errTooLate = fmt.Errorf("%w: it drains already, and accepts no connections any more", admin.ErrConflict)

// errDrains is the error of a hold while a drain's delay lasts.
var errDrains = fmt.Errorf("%w: it drains already; undo that first", admin.ErrConflict)

// request has a withdrawal carried out. It does not block.
func (d *daemon) request(w withdrawal) error {
	switch {
	case w.kind != drainNow && phase(d.phase.Load()) > unready:
		return errTooLate
	case w.kind == hold && d.phase.Load() == int32(unready) && !d.held.Load():
		return errDrains
	case w.kind == undo:
		d.restore()
	default:
		d.held.Store(w.kind == hold)
		d.withdraw()
	}
	select {
	case d.withdrawals <- w:
	default: // a drain was requested as often before
		return fmt.Errorf("%w: other requests to drain wait", admin.ErrConflict)
	}
	return nil
}

// withdraw makes the process not ready. It still accepts.
func (d *daemon) withdraw() {
	now := time.Now()
	d.drainBegan.CompareAndSwap(nil, &now)
	d.enter(unready)
	if d.admin != nil {
		d.admin.SetUnready("draining")
	}
}

// restore makes it ready again, unless it has stopped accepting.
func (d *daemon) restore() {
	if !d.phase.CompareAndSwap(int32(unready), int32(serving)) {
		return
	}
	d.drainBegan.Store(nil)
	d.held.Store(false)
	if d.admin != nil {
		d.admin.SetReady()
	}
}

// carryOut logs a withdrawal, and returns when the process drains; nil: not until another request.
func (d *daemon) carryOut(w withdrawal, delay <-chan time.Time) <-chan time.Time {
	c := d.planner.Plan().Drain
	who := zap.String("requested_by", w.who)
	switch {
	case w.kind == undo:
		d.log.Info("ready again", who)
		return nil
	case w.kind == hold && delay == nil:
		d.log.Info("not ready: connections are accepted until it drains, or that is undone", who)
		return nil
	case w.kind == hold || delay != nil:
		return delay
	}
	d.log.Info("draining", who,
		zap.Duration("delay", c.Delay), zap.Duration("spread", c.Spread), zap.Duration("timeout", c.Timeout))
	return time.After(c.Delay)
}
