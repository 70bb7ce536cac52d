package daemon

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/account"
	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/logging"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// daemon is a running proxy with its planner, its sources of servers, its log and its HTTP server.
type daemon struct {
	loader   *loader.Loader
	identity *envoy.Identity // never nil
	log      *logging.Log
	phase    atomic.Int32 // a phase
	planner  *plan.Planner
	sources  sources
	proxy    *proxy.Proxy
	tickets  *certs.Tickets    // the keys of session tickets
	health   upstream.Handover // of the process before this one
	admin    *admin.Server     // of the metrics; nil: there is none
	api      *admin.API        // of the admin API; nil: there is none

	kin        *Inherited
	older      predecessors // old processes of upgrades
	xds        controlPlane
	envoyAdmin *envoy.Admin

	began       time.Time
	followed    *plan.File                // whose settings xds has. Only the planner's goroutine has it
	level       string                    // of the log, as the file says. Only the planner's goroutine has it
	file        atomic.Pointer[plan.File] // in force. Only the planner's goroutine replaces it
	slow        admin.SlowTurns
	withdrawals chan withdrawal           // requests to drain, and to undo it
	drainBegan  atomic.Pointer[time.Time] // nil: there is no drain
	readiness   readiness
	planned     atomic.Pointer[time.Time] // when the plan in force came into force
	hash        atomic.Pointer[string]    // of the configuration in force
	changes     atomic.Pointer[[]string]  // of the last reload that succeeded; nil: there was none
	successor   chan successor            // that has taken over
	unwatch     context.CancelFunc        // ends the feeding of the watchdog
	replaced    atomic.Pointer[time.Time] // when a successor has taken over; nil: none has
	drainsAt    atomic.Pointer[time.Time] // when a process that was replaced drains, or resets its connections; nil: never

	background sync.WaitGroup
	watching   context.CancelFunc // ends the watch of the file; nil: there is none. Only the planner's goroutine has it
}

// errUnexpected is the error if the proxy ends without a signal.
var errUnexpected = errors.New("the proxy has ended unexpectedly")

// Config is what a daemon is started with.
type Config struct {
	Loader    *loader.Loader
	Inherited *Inherited
	// Identity is set in a process that replaces an Envoy.
	Identity *envoy.Identity
	// Started is called when the daemon serves. It may be nil.
	Started func(Addresses)
}

// Addresses are where a daemon listens.
type Addresses struct {
	Listeners []netip.AddrPort // in the order of the plan
	Metrics   netip.AddrPort   // invalid without metrics
}

// Run starts a daemon and serves until a signal ends it.
func Run(c Config) error {
	cfg := c.Loader.Config()
	if err := account.Check(cfg.User, cfg.Group); err != nil {
		return err
	}
	if cfg.User != "" {
		if err := account.Conceal(); err != nil {
			return err
		}
	}
	log, err := logging.New(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s := listenForSignals(c.Loader.Path() != "")
	defer s.stop()
	starting, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	d, err := start(starting, &c, log)
	cancel()
	switch {
	case errors.Is(err, context.Canceled):
		log.Info("stopped: a signal arrived before the proxy had started")
		return nil
	case err != nil:
		return err
	}
	if c.Started != nil {
		c.Started(d.addresses())
	}
	return errors.Join(d.serve(s), d.close())
}

// addresses returns where the daemon listens.
func (d *daemon) addresses() Addresses {
	a := Addresses{Listeners: d.proxy.Addrs()}
	if d.admin != nil {
		a.Metrics = d.admin.Addr()
	}
	return a
}

// collectEarly is the target of the garbage collector in per cent. The daemon makes hardly any garbage, so the memory
// of an idle connection counts for more than the time of the collector. GOGC overrides it.
const collectEarly = 50

// start starts everything, or nothing. When ctx is done it gives up.
func start(ctx context.Context, c *Config, log *logging.Log) (*daemon, error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectEarly)
	}
	d := &daemon{
		loader: c.Loader, identity: cmp.Or(c.Identity, &envoy.Identity{}), log: log, kin: c.Inherited, began: time.Now(),
		withdrawals: make(chan withdrawal, 8), successor: make(chan successor, 1),
	}
	d.loader.Warn = func(text string) { log.Warn("the configuration is unusual", zap.String("warning", text)) }
	d.loader.Own = d.identity.OwnAddresses
	first := d.loader.Config()
	handed, err := d.kin.handed()
	if err != nil {
		return nil, err
	}
	d.tickets = certs.NewTickets(handed.Tickets)
	d.older.log = log.Logger
	d.health = handed.health(log.Logger)
	d.xds.daemon = d
	d.envoyAdmin = d.newEnvoyAdmin()
	d.planner = plan.New(plan.Config{
		Load: d.loader.Load, Begin: d.begin, Discover: d.sources.run, Committed: d.committed, Overrides: handed.overrides(),
		Control: d.xds.first(first, handed.XDS), LeftOut: d.xds.leftOut, Log: log.Logger,
	})
	d.sources.report = d.planner.Discovered
	if err := d.planner.Start(ctx); err != nil {
		return nil, d.undo(err)
	}
	if d.admin != nil {
		if first.XDS.Enabled() {
			d.admin.SetUnready("starting: the control plane has not said anything yet")
		} else if !d.kin.given.Succeeds() { // else the process before this one is ready meanwhile
			d.admin.SetUnready("starting: servers are checked for the first time")
		}
		d.admin.CheckReady(d.failingListeners)
		d.admin.Serve(d.metricsHandler())
	}
	d.announce()
	if d.api != nil { // it can reload: what is announced does not change before
		d.api.Serve(&adminDaemon{daemon: d}, log.Level, &d.slow)
	}
	if err := d.envoyAdmin.Start(); err != nil {
		return nil, d.undo(err)
	}
	if err := d.xds.start(ctx); err != nil {
		return nil, d.undo(err)
	}
	if err := d.awaitChecks(ctx); err != nil {
		return nil, d.undo(err)
	}
	d.serves()
	d.enter(serving)
	d.readiness.mu.Lock()
	defer d.readiness.mu.Unlock()
	d.answerReady()
	return d, nil
}

// maxFirstChecks bounds how long a start waits for the first checks.
const maxFirstChecks = 10 * time.Second

// awaitChecks waits until each server that is checked has been checked once, as long as one check may take: the process
// before this one serves meanwhile, and a load balancer sends no clients.
func (d *daemon) awaitChecks(ctx context.Context) error {
	var most time.Duration
	for _, b := range d.planner.Plan().Backends {
		if b.Settings.Check.Interval > 0 {
			most = max(most, b.Settings.Check.Timeout)
		}
	}
	select {
	case <-d.proxy.Checked():
	case <-time.After(min(most, maxFirstChecks)):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// undo ends what was started.
func (d *daemon) undo(err error) error {
	err = errors.Join(err, d.close())
	if d.proxy != nil { // it was started when ctx was done
		err = errors.Join(err, d.proxy.Close())
	}
	return err
}

// closePlan has the plan stay as it is. left: another process has taken over.
func (d *daemon) closePlan(left bool) {
	d.xds.close(left)
	d.planner.Close()
}

// begin starts what carries out the first plan. The planner calls it.
func (d *daemon) begin(f *plan.File, first *plan.Plan) (_ plan.Target, err error) {
	c := f.Config
	if !c.Metrics.Address.IsZero() && d.admin == nil { // else a listener of the control plane was left out meanwhile
		if d.admin, err = d.kin.listenMetrics(f, d.log.Logger); err != nil {
			return nil, err
		}
	}
	if c.Admin.Address != "" && d.api == nil {
		if d.api, err = d.kin.listenAdmin(c, d.log.Logger); err != nil {
			return nil, err
		}
	}
	d.proxy, err = proxy.Start(proxy.Config{
		Ring: reactor.RingKind(c.Ring), Loops: c.Loops, Pin: c.Pin, MinWait: c.MinWait, Log: d.log.Logger,
		OnSlowTurn: d.slowTurn, Tickets: d.tickets,
		Inherited: d.kin.listenSockets(), Health: d.health,
		KeepFiles: upgrade.Storing(),
		OnDown:    d.older.closeServer,
	}, first)
	if err != nil {
		return nil, err
	}
	return d.proxy, nil
}

// committed does what a file says beside its plan. The planner calls it.
func (d *daemon) committed(f *plan.File, diff plan.Diff) {
	d.notePlan(f)
	d.noteListeners(f.Config.XDS.Enabled(), len(d.planner.Plan().Listeners))
	d.noteReload(f, &diff)
	d.store(&diff)
	if diff.Old != nil && len(diff.Listeners) > 0 {
		d.listening(func(l *plan.Listener) bool {
			return slices.ContainsFunc(diff.Listeners, func(c plan.ListenerChange) bool { return c.Old == nil && c.New == l })
		})
	}
	if level := f.Config.Log.Level; level != d.level { // else what the admin API has set stays
		d.level = level
		_ = d.log.SetLevel(level) // it is valid
	}
	d.watch(f.Config)
	if f != d.followed {
		d.followed = f
		d.xds.committed(f.Config)
	}
}

// watch begins or ends the watch of the file.
func (d *daemon) watch(c *config.Config) {
	switch wanted := c.Watch && d.loader.Watchable(); {
	case wanted && d.watching == nil:
		ctx, cancel := context.WithCancel(context.Background())
		d.watching = cancel
		d.background.Go(func() { d.loader.Watch(ctx, loader.WatchInterval, func() { _ = d.reload(ctx) }) })
	case !wanted && d.watching != nil:
		d.watching()
		d.watching = nil
	}
}

// close ends everything but the proxy. What has not started is not there.
func (d *daemon) close() error {
	d.closePlan(false)
	if d.watching != nil {
		d.watching()
	}
	if d.unwatch != nil {
		d.unwatch()
	}
	d.background.Wait()
	d.sources.wait()
	d.older.leave()
	d.envoyAdmin.Close()
	var errs []error
	if d.api != nil {
		errs = append(errs, d.api.Close())
	}
	if d.admin != nil {
		errs = append(errs, d.admin.Close())
	}
	return errors.Join(errs...)
}

// reload reads the file anew, and returns when it is in force, or why it is not. The planner logs the result.
func (d *daemon) reload(ctx context.Context) error {
	d.enter(reloading)
	defer d.enter(serving)
	return d.planner.Reload(ctx)
}
