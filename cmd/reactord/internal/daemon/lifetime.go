package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"go.uber.org/zap"
)

// announce logs what was started.
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
	b := proxymetrics.ReadBuild()
	d.log.Info("started", zap.String("version", b.Version), zap.String("revision", b.Revision),
		zap.String("ring", string(loops[0].RingChoice().Kind)), zap.Int("loops", len(loops)), zap.Int("pid", os.Getpid()))
	d.listening(func(*plan.Listener) bool { return true })
	listeners := d.planner.Plan().Listeners
	for i, stats := range d.proxy.Stats().Listeners {
		if configured := listeners[i].MaxConnections; configured > stats.Limit {
			d.log.Warn("max_connections is more than the limit on open files allows (ulimit -n, LimitNOFILE=)",
				zap.String("listener", stats.Name),
				zap.Int("max_connections", configured), zap.Int("limit", stats.Limit))
		}
	}
	if d.admin != nil {
		d.log.Info("metrics", zap.Stringer("address", d.admin.Addr()))
	}
	if d.api != nil {
		d.log.Info("admin", zap.String("address", d.api.Address()))
	}
}

// listening logs where those of the listeners in force listen that are wanted.
func (d *daemon) listening(wanted func(*plan.Listener) bool) {
	listeners := d.planner.Plan().Listeners
	for i, place := range d.proxy.Places() {
		if l := &listeners[i]; wanted(l) {
			d.log.Info("listening",
				zap.String("listener", l.Name), zap.String("address", place), zap.String("backend", l.Backend))
		}
	}
}

// serve returns when the proxy has ended, after a request to drain or an error.
func (d *daemon) serve(s *signals) error {
	defer d.enter(ended)
	end := make(chan error, 1)
	go func() { end <- d.proxy.Wait() }()
	changing, stop := context.WithCancel(context.Background())
	defer stop()
	d.background.Go(func() { d.reloadOn(changing, s.reload) })
	d.background.Go(func() { d.upgradeOn(changing, s.upgrade) })
	reopening, stopReopening := context.WithCancel(context.Background())
	defer stopReopening()
	d.background.Go(func() { d.reopenOn(reopening, s.reopen) })

	var delay <-chan time.Time // until it drains; nil: that was not requested
	for {
		select {
		case err := <-end:
			return errors.Join(errUnexpected, err)
		case next := <-d.successor:
			stop()
			return d.retire(next, s.end)
		case w := <-d.withdrawals:
			delay = d.carryOut(w, delay)
		case sig := <-s.end:
			if hurry := delay != nil; hurry {
				stop()
				return d.drain(s.end, hurry)
			}
			delay = d.endBySignal(sig.String())
			d.background.Go(func() { d.noted(upgrade.Draining(changing)) })
		case <-delay:
			if delay = nil; d.phase.CompareAndSwap(int32(unready), int32(draining)) { // else it was undone
				stop()
				return d.drain(s.end, false)
			}
		}
	}
}

// reloadOn reloads at each signal, until ctx is done.
func (d *daemon) reloadOn(ctx context.Context, hups <-chan os.Signal) {
	for {
		select {
		case <-hups:
			_ = d.reload(ctx) // the planner logs it
		case <-ctx.Done():
			return
		}
	}
}

// reopenOn opens the access log anew at each signal, until ctx is done: also while connections drain.
func (d *daemon) reopenOn(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			d.reopenAccessLog()
		case <-ctx.Done():
			return
		}
	}
}

// reopenAccessLog opens the access log anew, in the old processes of upgrades as well: they write to the same file.
func (d *daemon) reopenAccessLog() {
	d.proxy.ReopenAccessLog()
	d.older.reopen()
}

// drain ends the process when it has not been ready for drain.delay: it accepts no more, ends connections, and resets
// what is left. A signal resets them immediately, and so does hurry. The old processes of upgrades end with it.
func (d *daemon) drain(signals <-chan os.Signal, hurry bool) error {
	d.enter(draining)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	d.background.Go(func() { d.noted(upgrade.Draining(ctx)) })
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
	d.closePlan(false) // the plan stays as it is: what drains does not begin anew
	c := d.planner.Plan().Drain
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.older.end(ctx, c.Timeout)
	}()
	err := d.drainProxy(ctx, c)
	<-ended
	return err
}

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
