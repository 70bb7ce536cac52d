package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"go.uber.org/zap"
)

// announce logs that the daemon has started, and how.
func (d *daemon) announce() {
	loops, fallen := d.proxy.Loops(), 0
	reason := ""
	for _, l := range loops {
		if r := l.RingChoice().Reason; r != "" {
			reason = r
			fallen++
		}
	}
	if fallen > 0 {
		d.log.Warn("running on epoll", zap.String("reason", reason), zap.Int("loops", fallen))
	}
	b := build.Read()
	d.log.Info("started", zap.String("version", b.Version), zap.String("revision", b.Revision),
		zap.String("ring", string(loops[0].RingChoice().Kind)), zap.Int("loops", len(loops)), zap.Int("pid", os.Getpid()))
	d.announceListeners(func(*plan.Listener) bool { return true })
	d.warnOfLimits()
	if m := d.endpoints.metrics; m != nil {
		d.log.Info("metrics", zap.Stringer("address", m.Addr()))
	}
	if api := d.endpoints.api; api != nil {
		d.log.Info("admin", zap.String("address", api.Address()))
	}
	if page := d.endpoints.page; page != nil {
		d.log.Info("status page", zap.String("address", page.Address()))
	}
}

// warnOfLimits logs limits on connections that the limit on open files does not allow.
func (d *daemon) warnOfLimits() {
	warn := func(configured, limit int, of ...zap.Field) {
		if configured > limit {
			d.log.Warn("max_connections is more than the limit on open files allows (ulimit -n, LimitNOFILE=)",
				append(of, zap.Int("max_connections", configured), zap.Int("limit", limit))...)
		}
	}
	p, read := d.planner.Plan(), d.proxy.Stats()
	warn(p.Limits.MaxConnections, read.Process.Limit)
	for i := range read.Listeners {
		l := &read.Listeners[i]
		warn(p.Listeners[i].MaxConnections, l.Limit, zap.String("listener", l.Name))
	}
}

// announceListeners logs the addresses of the listeners in force that are wanted.
func (d *daemon) announceListeners(wanted func(*plan.Listener) bool) {
	listeners := d.planner.Plan().Listeners
	for i, place := range d.proxy.Places() {
		if l := &listeners[i]; wanted(l) {
			d.log.Info("listening",
				zap.String("listener", l.Name), zap.String("address", place), zap.String("backend", l.Backend))
		}
	}
}

// serve waits until the proxy has ended, after a request to drain or an error.
func (d *daemon) serve(s *signals) error {
	defer d.lifecycle.enter(ended)
	end := make(chan error, 1)
	go func() { end <- d.proxy.Wait() }()
	changing, stop := context.WithCancel(context.Background())
	defer stop()
	d.onSignal(changing, s.reload, func() { _ = d.reload(changing) })      // the planner logs the result
	d.onSignal(changing, s.upgrade, func() { _, _ = d.upgrade(changing) }) // it logs the result
	reopening, stopReopening := context.WithCancel(context.Background())
	defer stopReopening()
	d.onSignal(reopening, s.reopen, d.reopenAccessLog) // also while connections drain

	var delay <-chan time.Time // until it drains, if that was requested
	for {
		select {
		case err := <-end:
			return errors.Join(errUnexpected, err)
		case next := <-d.successors:
			stop()
			return d.retire(next, s.end)
		case r := <-d.lifecycle.requests:
			delay = d.lifecycle.carryOut(r, delay)
		case sig := <-s.end:
			if hurry := delay != nil; hurry {
				stop()
				return d.drain(s.end, hurry)
			}
			delay = d.lifecycle.endBySignal(sig.String())
			d.background.Go(func() { d.lifecycle.manager.draining(changing) })
		case <-delay:
			if delay = nil; d.lifecycle.endDelay() { // else it was undone
				stop()
				return d.drain(s.end, false)
			}
		}
	}
}

// onSignal calls f for each signal, until ctx is done.
func (d *daemon) onSignal(ctx context.Context, signals <-chan os.Signal, f func()) {
	d.background.Go(func() {
		for {
			select {
			case <-signals:
				f()
			case <-ctx.Done():
				return
			}
		}
	})
}

// reopenAccessLog reopens the access log, also in the old processes of upgrades, which write to the same file.
func (d *daemon) reopenAccessLog() {
	d.proxy.ReopenAccessLog()
	d.predecessors.reopen()
}

// drain ends the process after drain.delay: it stops accepting, ends connections, and resets the rest after the
// timeout. A signal resets them immediately, and so does hurry. The old processes of upgrades end with it.
func (d *daemon) drain(signals <-chan os.Signal, hurry bool) error {
	d.lifecycle.enter(draining)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	d.background.Go(func() { d.lifecycle.manager.draining(ctx) })
	if hurry {
		end()
	}
	go func() {
		select {
		case <-signals:
			end()
		case <-ctx.Done():
		}
	}()
	d.freezePlan(false) // what drains begins nothing new
	c := d.planner.Plan().Drain
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.predecessors.end(ctx, c.Timeout)
	}()
	err := d.drainProxy(ctx, c)
	<-ended
	return err
}

// drainProxy drains the proxy, and logs how that ended.
func (d *daemon) drainProxy(ctx context.Context, c config.Drain) error {
	c.Delay = 0 // it has passed
	err := d.proxy.Drain(ctx, c)
	switch {
	case errors.Is(err, proxy.ErrDrainTimeout):
		d.log.Warn("stopped: the drain timed out, and the remaining connections were reset")
	case err != nil:
		return err
	case ctx.Err() != nil:
		d.log.Warn("stopped: a second signal has reset the remaining connections")
	default:
		d.log.Info("stopped: all connections have ended")
	}
	return nil
}
