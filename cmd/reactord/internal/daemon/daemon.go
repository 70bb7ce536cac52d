package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/host/account"
	"github.com/reactord/reactord/cmd/reactord/internal/host/memory"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/history"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/logging"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// daemon assembles the parts of the process.
type daemon struct {
	log           *logging.Log
	lifecycle     lifecycle
	configuration configuration
	overrides     *overridesFile
	planner       *planner.Planner
	sources       sources
	sets          *sets.Manager
	controlPlane  controlPlane
	tickets       *certs.Tickets // the keys of TLS session tickets
	proxy         *proxy.Proxy
	endpoints     endpoints
	slow          admin.SlowTurns
	inherited     *Inherited
	predecessors  predecessors
	successors    chan successor // at most one
	recording     recording
	background    sync.WaitGroup
}

// errUnexpected reports that the proxy has ended without a signal.
var errUnexpected = errors.New("the proxy has ended unexpectedly")

// Config configures a daemon.
type Config struct {
	Loader    *loader.Loader
	Inherited *Inherited
	// Identity is set in a process that replaces an Envoy.
	Identity *envoy.Identity
	// Started is called when the daemon serves. It may be nil.
	Started func(Addresses)
}

// Addresses has the addresses on which a daemon listens.
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

// addresses returns the addresses on which the daemon listens.
func (d *daemon) addresses() Addresses {
	a := Addresses{Listeners: d.proxy.Addrs()}
	if d.endpoints.metrics != nil {
		a.Metrics = d.endpoints.metrics.Addr()
	}
	return a
}

// start starts all parts, or none if it fails. When ctx is done it gives up.
func start(ctx context.Context, c *Config, log *logging.Log) (*daemon, error) {
	memory.PaceCollector(int64(c.Loader.Config().Limits.Memory))
	record, err := c.Inherited.handoverRecord()
	if err != nil {
		return nil, err
	}
	d := assemble(ctx, c, log, &record)
	if err := d.planner.Start(ctx); err != nil {
		return nil, d.undo(err)
	}
	first := c.Loader.Config()
	if d.endpoints.metrics != nil {
		d.lifecycle.start(d.unreadyReason(first), func() string { return failingText(d.proxy.FailingListeners()) })
		d.endpoints.metrics.Serve(d.metricsHandler())
	}
	d.announce()
	if d.endpoints.api != nil { // it can reload: what is announced does not change before
		d.endpoints.api.Serve(d.adminDaemon(), log.Level, &d.slow)
	}
	if d.endpoints.page != nil {
		d.endpoints.page.Serve(d.adminDaemon(), log.Level, &d.slow)
	}
	if err := d.endpoints.envoy.Start(); err != nil {
		return nil, d.undo(err)
	}
	if err := d.controlPlane.start(ctx); err != nil {
		return nil, d.undo(err)
	}
	if err := d.awaitChecks(ctx); err != nil {
		return nil, d.undo(err)
	}
	d.takeOver()
	d.lifecycle.serve()
	d.startRecording()
	if err := memory.UnmapProgram(); err != nil {
		log.Debug("pages of the program stay mapped", zap.Error(err))
	}
	return d, nil
}

// assemble returns a daemon whose parts have not started. When ctx is done, a start that waits gives up.
func assemble(ctx context.Context, c *Config, log *logging.Log, record *handoverRecord) *daemon {
	d := &daemon{
		log: log, lifecycle: newLifecycle(log.Logger), inherited: c.Inherited, successors: make(chan successor, 1),
		tickets: certs.NewTickets(record.Tickets), predecessors: predecessors{log: log.Logger, loops: record.Loops},
		recording: recording{recorder: history.New()},
	}
	d.lifecycle.manager.stored = c.Inherited.given.Stored()
	identity := cmp.Or(c.Identity, &envoy.Identity{})
	c.Loader.Own = identity.OwnAddresses
	c.Loader.Warn = func(text string) { log.Warn("configuration warning", zap.String("warning", text)) }
	d.configuration.loader, d.configuration.log, d.configuration.reload = c.Loader, log, d.reload
	d.endpoints.log, d.endpoints.envoy = log.Logger, d.newEnvoyAdmin(identity)
	d.controlPlane.log, d.controlPlane.identity = log.Logger, identity
	d.controlPlane.setReadyListeners = d.endpoints.envoy.SetReadyListeners
	d.sets = sets.NewManager(log.Logger, record.Sets)
	health, sticky := record.health(log.Logger), record.sticky(log.Logger)
	d.overrides = newOverridesFile(c.Loader.Config().Admin.OverridesFile, log.Logger)
	overrides, drains := record.restore(time.Now())
	if !c.Inherited.given.Succeeds() {
		overrides, drains = d.overrides.read(time.Now())
	}
	d.planner = planner.New(planner.Config{
		Load: d.load,
		Begin: func(f *plan.File, p *plan.Plan) (plan.Target, error) {
			return d.begin(ctx, f, p, record.NextID, health, sticky)
		},
		Discover: d.sources.run, Committed: d.committed,
		Overrides: overrides, Drains: drains, Overridden: d.overrides.save,
		Control: d.controlPlane.first(c.Loader.Config(), record.XDS), LeftOut: d.controlPlane.leftOut, Log: log.Logger,
	})
	d.sources.report, d.controlPlane.planner, d.lifecycle.plan = d.planner.Discovered, d.planner, d.planner.Plan
	return d
}

// load reads the file. Sets that it adds have what their files have before a listener asks them.
func (d *daemon) load(ctx context.Context) (*plan.File, error) {
	f, err := d.configuration.loader.Load(ctx)
	if err == nil {
		d.sets.Prepare(f.Config.Sets, f.Lists)
	}
	return f, err
}

// unreadyReason returns why the process is not ready at its start, or "".
func (d *daemon) unreadyReason(first *config.Config) string {
	switch {
	case first.XDS.Enabled():
		return "the control plane has not said anything yet"
	case d.inherited.given.Succeeds(): // the process before this one is ready meanwhile
		return ""
	}
	return "servers are checked for the first time"
}

// maxFirstChecks bounds how long a start waits for the first checks.
const maxFirstChecks = 10 * time.Second

// awaitChecks waits for the first result of all health checks, as long as one check may take: the predecessor serves
// meanwhile, and a load balancer sends no clients.
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

// undo ends the parts that a failed start has started, and joins their errors to err.
func (d *daemon) undo(err error) error {
	err = errors.Join(err, d.close())
	if d.proxy != nil { // it was started when ctx was done
		err = errors.Join(err, d.proxy.Close())
	}
	return err
}

// freezePlan stops all changes of the plan. replaced reports whether a successor has taken over.
func (d *daemon) freezePlan(replaced bool) {
	d.controlPlane.close(replaced)
	d.planner.Close()
}

// begin starts the proxy with the first plan. The planner calls it, and again after leaving out a listener of the
// control plane.
func (d *daemon) begin(
	ctx context.Context, f *plan.File, first *plan.Plan, firstID uint64, health upstream.Handover,
	sticky []proxy.StickySource,
) (_ plan.Target, err error) {
	c := f.Config
	if err := d.endpoints.listen(f, d.inherited); err != nil {
		return nil, err
	}
	d.sets.Follow(c.Sets, f.Lists)
	if err := d.sets.Await(ctx, maxFirstChecks); err != nil {
		return nil, err
	}
	d.lifecycle.metrics = d.endpoints.metrics
	d.proxy, err = proxy.Start(proxy.Config{
		Ring: reactor.RingKind(c.Ring), Loops: c.Loops, Pin: c.Pin, IncomingCPU: c.IncomingCPU, MinWait: c.MinWait,
		Log: d.log.Logger, OnSlowTurn: d.noteSlowTurn, Tickets: d.tickets,
		Sets:      d.sets.Directory(),
		Inherited: d.inherited.listenSockets(), Health: health, FirstID: firstID,
		Sticky:        sticky,
		AwaitSessions: d.inherited.given.Upgrading(),
		KeepFiles:     upgrade.Storing(),
		OnDown:        d.predecessors.closeServer,
	}, first)
	if err != nil {
		return nil, err
	}
	return d.proxy, nil
}

// noteSlowTurn logs and records a slow turn of a loop.
func (d *daemon) noteSlowTurn(t reactor.SlowTurn) {
	d.log.Warn("slow turn of a loop", zap.String("loop", t.Loop.Name()), zap.Duration("lasted", t.Lasted),
		zap.ByteString("stack", t.Stack))
	d.slow.Add(t)
}

// committed informs the parts about a plan that has taken effect. The planner calls it.
func (d *daemon) committed(f *plan.File, diff plan.Diff) {
	other := d.configuration.committed(f, &diff)
	if other {
		d.sets.Follow(f.Config.Sets, f.Lists)
	}
	d.lifecycle.noteListeners(f.Config.XDS.Enabled(), len(d.planner.Plan().Listeners))
	if upgrade.Storing() && listenersChange(&diff) {
		if sockets, err := d.sockets(); err != nil {
			d.lifecycle.manager.note(err)
		} else {
			d.lifecycle.manager.store(sockets)
		}
	}
	if diff.Old != nil && len(diff.Listeners) > 0 {
		d.announceListeners(func(l *plan.Listener) bool {
			return slices.ContainsFunc(diff.Listeners, func(c plan.ListenerChange) bool { return c.Old == nil && c.New == l })
		})
	}
	if diff.Old != nil && diff.Old.Limits.Memory != diff.New.Limits.Memory {
		memory.PaceCollector(int64(diff.New.Limits.Memory))
	}
	if other {
		d.controlPlane.committed(f.Config)
	}
}

// listenersChange reports whether a plan has other listeners than the one before it.
func listenersChange(diff *plan.Diff) bool {
	return slices.ContainsFunc(diff.Listeners, func(c plan.ListenerChange) bool { return c.Old == nil || c.New == nil })
}

// close ends all parts but the proxy, as far as they have started.
func (d *daemon) close() error {
	d.freezePlan(false)
	d.stopRecording()
	d.configuration.close()
	d.lifecycle.manager.close()
	d.controlPlane.wait()
	d.overrides.wait()
	d.background.Wait()
	d.sources.wait()
	d.sets.Close()
	d.predecessors.leave()
	return d.endpoints.close()
}

// errNoFile reports a reload of a daemon whose configuration is flags.
var errNoFile = fmt.Errorf("%w: the configuration is from flags: there is no file to read", admin.ErrUnsupported)

// reload reads the file again, and returns when it is in force, or with the reason why it is not. The planner logs the
// result.
func (d *daemon) reload(ctx context.Context) error {
	if d.configuration.loader.Path() == "" {
		return errNoFile
	}
	d.lifecycle.enter(reloading)
	defer d.lifecycle.enter(serving)
	return d.planner.Reload(ctx)
}
