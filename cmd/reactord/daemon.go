package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/logging"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/metrics"
	"go.uber.org/zap"
)

// daemon is a running proxy, with its log and its HTTP server.
type daemon struct {
	cfg   *config.Config
	log   *zap.Logger
	proxy *proxy.Proxy
	admin *admin.Server // nil: there is none
}

// errUnexpected is the error if the proxy ends without a signal.
var errUnexpected = errors.New("the proxy has ended unexpectedly")

// run starts a daemon as cfg says, calls started, which may be nil, and serves until a signal. placed makes errors of
// the problems of cfg.
func run(cfg *config.Config, placed placement, started func(*daemon)) error {
	log, err := logging.New(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // the daemon continues when the reader of its log has exited
	starting, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	d, err := start(starting, cfg, placed, log.Logger)
	cancel()
	switch {
	case errors.Is(err, context.Canceled):
		log.Info("stopped: a signal arrived before the proxy had started")
		return nil
	case err != nil:
		return err
	}
	if started != nil {
		started(d)
	}
	return errors.Join(d.serve(signals), d.closeAdmin())
}

// collectEarly is the target of the garbage collector in per cent. The daemon makes hardly any garbage, so the memory
// of an idle connection counts for more than the time of the collector. GOGC overrides it.
const collectEarly = 50

// start starts everything, or nothing. When ctx is done it looks up no further names.
func start(ctx context.Context, cfg *config.Config, placed placement, log *zap.Logger) (_ *daemon, err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectEarly)
	}
	found, err := settle(ctx, cfg, placed)
	if err != nil {
		return nil, err
	}
	d := &daemon{cfg: cfg, log: log}
	if !cfg.Metrics.IsZero() {
		if d.admin, err = admin.Listen(found.of(cfg.Metrics).String(), log); err != nil {
			return nil, err
		}
	}
	path, first, err := found.dataPath(cfg, placed, log)
	if err == nil {
		d.proxy, err = proxy.Start(path, first)
	}
	if err != nil {
		return nil, errors.Join(err, d.closeAdmin())
	}
	if d.admin != nil {
		d.admin.Serve(metrics.Handler(metrics.NewLoops(d.proxy.Loops()),
			proxymetrics.NewCollector(d.proxy.Stats), proxymetrics.NewBuildInfo()))
	}
	d.announce()
	return d, nil
}

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
	for i, addr := range d.proxy.Addrs() {
		l := d.proxy.Plan().Listeners[i]
		d.log.Info("listening",
			zap.String("listener", l.Name), zap.Stringer("address", addr), zap.String("backend", l.Backend))
	}
	for i, stats := range d.proxy.Stats().Listeners {
		if configured := d.proxy.Plan().Listeners[i].MaxConnections; configured > stats.Limit {
			d.log.Warn("max_connections is more than the limit on open files allows (ulimit -n, LimitNOFILE=)",
				zap.String("listener", stats.Name),
				zap.Int("max_connections", configured), zap.Int("limit", stats.Limit))
		}
	}
	if d.admin != nil {
		d.log.Info("metrics", zap.Stringer("address", d.admin.Addr()))
	}
}

// serve returns when the proxy has ended, after a signal or an error.
func (d *daemon) serve(signals <-chan os.Signal) error {
	ended := make(chan error, 1)
	go func() { ended <- d.proxy.Wait() }()
	select {
	case err := <-ended:
		return errors.Join(errUnexpected, err)
	case s := <-signals:
		return d.drain(s, signals)
	}
}

// drain waits for the connections to end, until the drain timeout or the next signal.
func (d *daemon) drain(first os.Signal, signals <-chan os.Signal) error {
	if d.admin != nil {
		d.admin.Drain()
	}
	d.log.Info("draining", zap.Stringer("signal", first), zap.Duration("timeout", d.cfg.Drain.Timeout))
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Drain.Timeout)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := d.proxy.Drain(ctx)
	switch {
	case err != nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		d.log.Warn("stopped: the drain timed out, and the remaining connections were reset")
	case ctx.Err() != nil:
		d.log.Warn("stopped: a second signal has reset the remaining connections")
	default:
		d.log.Info("stopped: all connections have ended")
	}
	return nil
}

func (d *daemon) closeAdmin() error {
	if d.admin == nil {
		return nil
	}
	return d.admin.Close()
}
