package main

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
	reloads, stop := context.WithCancel(context.Background())
	defer stop()
	d.background.Go(func() { d.reloadOn(reloads, s.reload) })
	d.background.Go(func() { d.upgradeOn(reloads, s.upgrade) })
	reopening, stopReopening := context.WithCancel(context.Background())
	defer stopReopening()
	d.background.Go(func() { d.reopenOn(reopening, s.reopen) })
	select {
	case err := <-end:
		return errors.Join(errUnexpected, err)
	case first := <-s.end:
		stop()
		return d.drain("signal "+first.String(), s.end)
	case who := <-d.drains:
		stop()
		return d.drain(who, s.end)
	case next := <-d.successor:
		stop()
		return d.retire(next, s.end)
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
			d.proxy.ReopenAccessLog()
		case <-ctx.Done():
			return
		}
	}
}

// requestDrain begins to drain the process, as a signal does.
func (d *daemon) requestDrain(who string) {
	select {
	case d.drains <- who:
	default: // it was requested already
	}
}

// drain ends the process in phases: it is not ready and still accepts; it accepts no more and ends connections; it
// resets what is left. A signal resets them immediately.
func (d *daemon) drain(who string, signals <-chan os.Signal) error {
	c := d.planner.Plan().Drain
	now := time.Now()
	d.drainBegan.CompareAndSwap(nil, &now)
	d.enter(unready)
	if d.admin != nil {
		d.admin.Drain()
	}
	d.log.Info("draining", zap.String("requested_by", who),
		zap.Duration("delay", c.Delay), zap.Duration("spread", c.Spread), zap.Duration("timeout", c.Timeout))
	ctx, end := context.WithCancel(context.Background())
	defer end()
	d.background.Go(func() { d.noted(upgrade.Draining(ctx)) })
	go func() {
		select {
		case <-signals:
			end()
		case <-ctx.Done():
		}
	}()
	delay := time.NewTimer(c.Delay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-ctx.Done():
	}
	d.enter(draining)
	d.planner.Close() // the plan stays as it is: what drains does not begin anew
	return d.drainProxy(ctx, c)
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
