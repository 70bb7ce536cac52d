package daemon

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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

// readiness is what was requested of the process last.
type readiness struct {
	mu       sync.Mutex  // one request at a time
	held     atomic.Bool // it is not ready, and nothing ends until it drains
	signaled atomic.Bool // a signal ends it: the service manager waits for that
	idle     bool        // there is no listener yet, or any more, and a control plane may send some. mu guards it
}

// errTooLate is the error of an undo that comes after the process has stopped accepting.
var errTooLate = fmt.Errorf("%w: it drains already, and accepts no connections any more", admin.ErrConflict)

// errDrains is the error of a hold while a drain's delay lasts.
var errDrains = fmt.Errorf("%w: it drains already; undo that first", admin.ErrConflict)

// errSignaled is the error of what would keep a process that a signal ends.
var errSignaled = fmt.Errorf("%w: a signal ends the process", admin.ErrConflict)

// request has a withdrawal carried out. It does not block.
func (d *daemon) request(w withdrawal) error {
	d.readiness.mu.Lock()
	defer d.readiness.mu.Unlock()
	p := phase(d.phase.Load())
	switch {
	case len(d.withdrawals) == cap(d.withdrawals):
		return fmt.Errorf("%w: other requests to drain wait", admin.ErrConflict)
	case w.kind != drainNow && p > unready:
		return errTooLate
	case w.kind != drainNow && d.readiness.signaled.Load():
		return errSignaled
	case w.kind == hold && p == unready && !d.readiness.held.Load():
		return errDrains
	case w.kind == undo:
		d.restore()
	default:
		d.withdraw(w.kind)
	}
	d.withdrawals <- w // there is room: others that send have waited for mu
	return nil
}

// withdraw makes the process not ready. It still accepts.
func (d *daemon) withdraw(why withdrawalKind) {
	now := time.Now()
	d.drainBegan.CompareAndSwap(nil, &now)
	d.readiness.held.Store(why == hold)
	d.enter(unready)
	if d.admin != nil {
		d.admin.SetUnready(unreadyTexts[why])
	}
}

// unreadyTexts are what /readyz answers.
var unreadyTexts = [...]string{drainNow: "draining", hold: "held: it serves, and wants no new connections"}

// endBySignal is a drain that a signal has asked for.
func (d *daemon) endBySignal(name string) <-chan time.Time {
	d.readiness.mu.Lock()
	defer d.readiness.mu.Unlock()
	d.readiness.signaled.Store(true)
	d.withdraw(drainNow)
	return d.carryOut(withdrawal{who: "signal " + name}, nil)
}

// failingListeners returns what /readyz answers while listeners fail, or "".
func (d *daemon) failingListeners() string {
	names := d.proxy.FailingListeners()
	if len(names) == 0 {
		return ""
	}
	return "listeners fail, and are tried again: " + strings.Join(names, ", ")
}

// restore makes it ready again, unless it has stopped accepting.
func (d *daemon) restore() {
	if !d.phase.CompareAndSwap(int32(unready), int32(serving)) {
		return
	}
	d.drainBegan.Store(nil)
	d.readiness.held.Store(false)
	d.answerReady()
}

// answerReady has /readyz say whether the process serves something, unless it starts, is held or drains. The caller
// holds readiness.mu.
func (d *daemon) answerReady() {
	switch {
	case d.admin == nil || phase(d.phase.Load()) == starting || phase(d.phase.Load()) > reloading:
	case d.readiness.idle:
		d.admin.SetUnready("no listeners: the control plane has sent none that is in force")
	default:
		d.admin.SetReady()
	}
}

// noteListeners has readiness follow the plan in force.
func (d *daemon) noteListeners(followed bool, listeners int) {
	d.readiness.mu.Lock()
	defer d.readiness.mu.Unlock()
	d.readiness.idle = followed && listeners == 0
	d.answerReady()
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
