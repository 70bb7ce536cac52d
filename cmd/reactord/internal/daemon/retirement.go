package daemon

import (
	"context"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// retire waits until the connections of this replaced process have ended, and ends it. See [retirement] for the bounds.
func (d *daemon) retire(s successor, signals <-chan os.Signal) error {
	d.lifecycle.replace()
	d.predecessors.leave()
	d.endpoints.leave()
	d.lifecycle.enter(draining)
	d.freezePlan(true)
	d.proxy.StopAccepting()
	d.log.Retire()
	r := retirement{
		log: d.log.Logger, plan: d.planner.Plan(), endOver: d.proxy.EndOver, lifecycle: &d.lifecycle, successor: s,
		signals: signals, requests: make(chan struct{}, 2), handovers: d.proxy.Handovers, open: d.proxy.Open,
	}
	if s.requests != nil {
		api := admin.ServePrivate(s.requests, &retiredDaemon{d.adminDaemon(), r.requests}, d.log.Level, d.log.Logger)
		defer api.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go r.bound(ctx, cancel)
	if err := d.proxy.Drain(ctx, config.Drain{Timeout: forever}); err != nil {
		return err
	}
	d.log.Info("stopped: all connections have moved or ended", zap.Int("successor", s.PID),
		zap.Uint64("moved", d.proxy.Handovers().Moved))
	return nil
}

// forever is longer than any connection lasts.
const forever = 10 * 365 * 24 * time.Hour

// retirement bounds how long a replaced process serves its connections. After upgrade.timeout, or when a signal or the
// successor requests it, it drains. After the drain's timeout, or a second request, it resets the connections.
type retirement struct {
	log       *zap.Logger
	plan      *plan.Plan          // the last one
	endOver   func(time.Duration) // as Proxy.EndOver
	lifecycle *lifecycle
	successor successor
	signals   <-chan os.Signal
	requests  chan struct{} // from the successor
	handovers func() stats.Handovers
	open      func() int64 // connections
}

// staysAfter is when it is logged what has not moved: what moves has done so by then, or nearly.
const staysAfter = 5 * time.Second

// logStaying logs how many connections stay, by the reason.
func (r *retirement) logStaying() {
	h := r.handovers()
	fields := []zap.Field{zap.Int64("connections", r.open()), zap.Uint64("moved", h.Moved)}
	for _, n := range h.Staying {
		fields = append(fields, zap.Uint64(n.Reason, n.Count))
	}
	r.log.Info("connections stay in the old process", fields...)
}

// bound calls end when it is time to reset the connections, and returns then or when ctx is done. A signal to all
// processes arrives twice, directly and through the successor, in either order: it does not shorten a drain that it
// began.
func (r *retirement) bound(ctx context.Context, end func()) {
	timeout := time.NewTimer(forever)
	defer timeout.Stop()
	limit := r.plan.Upgrade.Timeout
	if r.successor.Timeout >= 0 {
		limit = r.successor.Timeout
	}
	if limit > 0 {
		r.drainIn(limit, timeout)
	}
	exited, drains, signalled, requested := r.successor.Exited, false, false, false
	stays := time.After(staysAfter)
	for {
		select {
		case <-ctx.Done():
			return
		case <-stays:
			r.logStaying()
			continue
		case <-exited:
			if err := r.successor.Failure(); err != nil { // otherwise it has drained, or was itself replaced
				r.log.Error("the new process failed: no process accepts connections",
					zap.Int("successor", r.successor.PID), zap.Error(err))
			}
			exited = nil
			continue
		case <-timeout.C:
			if drains {
				r.log.Warn("drain timed out: resetting the remaining connections")
			} else {
				r.log.Info("draining the old process: upgrade.timeout has passed", zap.Duration("timeout", limit))
			}
		case <-r.signals:
			first := !signalled
			if signalled = true; first && requested {
				continue
			}
		case <-r.requests:
			first := !requested
			if requested = true; first && drains {
				continue
			}
		}
		if drains {
			end()
			return
		}
		drains = true
		r.endOver(r.plan.Drain.Spread)
		r.drainIn(r.plan.Drain.Timeout, timeout)
	}
}

// drainIn sets the time of the next step.
func (r *retirement) drainIn(in time.Duration, timer *time.Timer) {
	at := time.Now().Add(in)
	r.lifecycle.drainsAt.Store(&at)
	timer.Reset(in)
}

// retiredDaemon is the side of a replaced daemon that answers its successors.
type retiredDaemon struct {
	*adminDaemon
	requests chan<- struct{}
}

// Drain requests the next step: the successor calls it when it drains, and again when it resets its connections.
func (r *retiredDaemon) Drain(bool) error {
	select {
	case r.requests <- struct{}{}:
	default: // several wait
	}
	return nil
}
