package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"go.uber.org/zap"
)

// upgrade starts the program anew, and returns when the new process serves: its id. Then this process drains. If the
// new process fails, this one serves as before.
func (d *daemon) upgrade(ctx context.Context) (pid int, err error) {
	defer func() {
		if err != nil {
			d.log.Error("the upgrade has failed; this process serves as before", zap.Error(err))
		}
	}()
	if d.loader.Path() == "-" {
		return 0, fmt.Errorf("%w: %w", admin.ErrConflict, loader.ErrStandardInput)
	}
	if p := phase(d.phase.Load()); p != serving && p != reloading {
		return 0, fmt.Errorf("%w: the process is %v", admin.ErrConflict, p)
	}
	sockets, err := d.allSockets()
	if err != nil {
		return 0, err
	}
	defer closeSockets(sockets)
	d.log.Info("upgrading", zap.Int("sockets", len(sockets)))
	s, err := d.kin.program.Start(ctx, d.kin.forSuccessor(sockets), d.older.list(), d.handed())
	if errors.Is(err, upgrade.ErrUpgrading) || errors.Is(err, upgrade.ErrUpgraded) {
		err = fmt.Errorf("%w: %w", admin.ErrConflict, err)
	}
	if err != nil {
		return 0, err
	}
	d.handOver(s)
	return s.PID, nil
}

// handOver leaves the work to a successor.
func (d *daemon) handOver(s *upgrade.Successor) {
	d.unwatch()
	d.noted(upgrade.MainProcess(s.PID))
	asked, err := s.Confirm()
	if err != nil {
		d.log.Warn("the new process cannot show the connections of this one", zap.Error(err))
	}
	d.log.Info("upgraded: the new process accepts connections", zap.Int("successor", s.PID))
	if phase(d.phase.Load()) > reloading { // a drain was requested meanwhile, which is for the successor, too
		s.Terminate()
	}
	d.successor <- successor{s, asked}
}

// successor is the process that has taken over, and what it asks this one by; nil: it cannot.
type successor struct {
	*upgrade.Successor
	asks net.Listener
}

// noted logs that the service manager could not be told something.
func (d *daemon) noted(err error) {
	if err != nil {
		d.log.Warn("the service manager was not told", zap.Error(err))
	}
}

// upgradeOn upgrades at each signal, until ctx is done.
func (d *daemon) upgradeOn(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			_, _ = d.upgrade(ctx) // it is logged
		case <-ctx.Done():
			return
		}
	}
}

// serves tells the process before this one, and the service manager, that this process serves.
func (d *daemon) serves() {
	d.kin.discard(d.planner.Plan())
	d.kin.given.Ready(d.planner.Plan().Upgrade.Timeout)
	d.older.adopt(d.kin.given.Predecessors())
	ctx, cancel := context.WithCancel(context.Background())
	d.unwatch = cancel
	d.background.Go(func() { d.noted(upgrade.Watch(ctx, d.proxy.Loops(), d.log.Logger)) })
}

// tell tells the service manager of a phase.
func (d *daemon) tell(p phase) {
	switch p {
	case serving:
		in := d.planner.Plan()
		d.noted(upgrade.Ready(fmt.Sprintf("serving: %d listeners, %d backends", len(in.Listeners), len(in.Backends))))
	case reloading:
		d.noted(upgrade.Reloading())
	}
}

// store has the service manager keep the sockets of the plan in force. The planner calls it.
func (d *daemon) store(diff *plan.Diff) {
	if !upgrade.Storing() || !listenersChange(diff) {
		return
	}
	now, err := d.sockets()
	if err == nil {
		err = upgrade.Store(d.kin.stored, now)
		d.kin.stored = now
		closeSockets(now)
	}
	d.noted(err)
}

// retire ends this process after a successor has taken over: when its connections have ended. After upgrade.timeout, or
// when a signal or the successor asks for it, it drains. Another signal, or the successor's second request, resets the
// connections.
func (d *daemon) retire(s successor, signals <-chan os.Signal) error {
	d.enter(unready)
	now := time.Now()
	d.replaced.Store(&now)
	d.drainBegan.CompareAndSwap(nil, &now)
	d.older.leave()
	d.leave()
	d.enter(draining)
	d.closePlan(true)
	d.proxy.StopAccepting()
	d.log.Retire()
	drains := make(chan struct{}, 2)
	if s.asks != nil {
		api := admin.ServePrivate(s.asks, &retired{adminDaemon{daemon: d}, drains}, d.log.Level, d.log.Logger)
		defer api.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go d.bound(ctx, cancel, s.Successor, signals, drains)
	if err := d.proxy.Drain(ctx, config.Drain{Timeout: asLongAsItTakes}); err != nil {
		return err
	}
	d.log.Info("stopped: the new process has taken over", zap.Int("successor", s.PID))
	return nil
}

// retired is the daemon as the processes after it see it.
type retired struct {
	adminDaemon
	drains chan<- struct{}
}

// Drain is called when the successor drains, and again when it resets its connections.
func (r *retired) Drain(bool) error {
	select {
	case r.drains <- struct{}{}:
	default: // several wait
	}
	return nil
}

// asLongAsItTakes is longer than any connection.
const asLongAsItTakes = 10 * 365 * 24 * time.Hour

// leave leaves metrics and the admin API to the successor.
func (d *daemon) leave() {
	d.envoyAdmin.Close()
	var errs []error
	if d.api != nil {
		errs = append(errs, d.api.Leave())
	}
	if d.admin != nil {
		errs = append(errs, d.admin.Close())
	}
	if err := errors.Join(errs...); err != nil {
		d.log.Warn("an HTTP server has not ended well", zap.Error(err))
	}
}

// bound bounds a retirement: by upgrade.timeout, then by the times of a drain, which a signal begins, too. requests are
// those of the successor: the first one cuts no drain short that has begun, as by a signal to all processes.
func (d *daemon) bound(
	ctx context.Context, end func(), s *upgrade.Successor, signals <-chan os.Signal, requests <-chan struct{},
) {
	timeout := time.NewTimer(asLongAsItTakes)
	defer timeout.Stop()
	limit := d.planner.Plan().Upgrade.Timeout
	if s.Timeout >= 0 {
		limit = s.Timeout
	}
	if limit > 0 {
		d.drainIn(limit, timeout)
	}
	exited, drains, requested := s.Exited, false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-exited:
			if err := s.Failure(); err != nil { // else it has drained, or has a successor of its own
				d.log.Error("the new process has failed; no process accepts connections",
					zap.Int("successor", s.PID), zap.Error(err))
			}
			exited = nil
			continue
		case <-timeout.C:
			if drains {
				d.log.Warn("the drain timed out, and the remaining connections are reset")
			} else {
				d.log.Info("the old process drains: upgrade.timeout has passed", zap.Duration("timeout", limit))
			}
		case <-signals:
		case <-requests:
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
		c := d.planner.Plan().Drain
		d.proxy.EndOver(c.Spread)
		d.drainIn(c.Timeout, timeout)
	}
}

// drainIn sets the time of a retirement's next step.
func (d *daemon) drainIn(in time.Duration, timer *time.Timer) {
	at := time.Now().Add(in)
	d.drainsAt.Store(&at)
	timer.Reset(in)
}

// listenersChange reports whether a plan has other listeners than the one before it.
func listenersChange(diff *plan.Diff) bool {
	for _, c := range diff.Listeners {
		if c.Old == nil || c.New == nil {
			return true
		}
	}
	return false
}
