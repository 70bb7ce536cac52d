package main

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// errUnasked is what serve's error matches when no signal has ended the proxy.
var errUnasked = errors.New("the proxy has ended without being asked to")

// run is the daemon's life: it starts what cfg says, calls started, which may be nil, and serves until
// a signal ends it. placed puts what is wrong with cfg in its place.
func run(cfg *config.Config, placed placement, started func(*daemon)) error {
	log, end, err := logging.New(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGPIPE) // whoever read the log has gone: that is no reason to go as well
	starting, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	d, err := start(starting, cfg, placed, log)
	cancel()
	switch {
	case errors.Is(err, context.Canceled):
		log.Info("stopped: a signal came before the proxy had started")
		return nil
	case err != nil:
		return err
	}
	if started != nil {
		started(d)
	}
	return errors.Join(d.serve(signals), d.closeAdmin())
}

// collectEarly is the garbage collector's target for a daemon: it makes hardly any garbage, so what
// memory an idle connection takes is worth more than the collector's time. GOGC overrides it.
const collectEarly = 50

// start brings everything up, or nothing. When ctx ends it looks up no more names.
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
	if d.proxy, err = startProxy(found.dataPath(cfg, log)); err != nil {
		return nil, errors.Join(err, d.closeAdmin())
	}
	if d.admin != nil {
		d.admin.Serve(metrics.Handler(metrics.NewLoops(d.proxy.Loops()),
			proxymetrics.NewCollector(d.proxy.Stats), proxymetrics.NewBuildInfo()))
	}
	d.announce()
	return d, nil
}

func startProxy(path proxy.Config) (*proxy.Proxy, error) {
	// The loops share an address (SO_REUSEPORT), and would share it with another reactord as well.
	for _, l := range path.Listeners {
		probe, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(l.Address))
		if err != nil {
			return nil, fmt.Errorf("listener %s: %w", l.Name, err)
		}
		_ = probe.Close()
	}
	return proxy.Start(path)
}

// announce logs what has been started, on what.
func (d *daemon) announce() {
	loops, fallen := d.proxy.Loops(), 0
	reason := ""
	for _, l := range loops {
		if r := l.Choice().Reason; r != "" {
			reason = r
			fallen++
		}
	}
	if fallen > 0 {
		d.log.Warn("running on epoll", zap.String("because", reason), zap.Int("loops", fallen))
	}
	b := proxymetrics.ReadBuild()
	d.log.Info("started", zap.String("version", b.Version), zap.String("revision", b.Revision),
		zap.String("ring", string(loops[0].Choice().Kind)), zap.Int("loops", len(loops)), zap.Int("pid", os.Getpid()))
	for i, addr := range d.proxy.Addrs() {
		l := d.cfg.Listeners[i]
		d.log.Info("listening", zap.String("listener", l.Name), zap.Stringer("address", addr), zap.String("backend", l.Backend))
	}
	if d.admin != nil {
		d.log.Info("metrics", zap.Stringer("address", d.admin.Addr()))
	}
}

// serve returns when the proxy has ended: after a signal, or because of an error.
func (d *daemon) serve(signals <-chan os.Signal) error {
	ended := make(chan error, 1)
	go func() { ended <- d.proxy.Wait() }()
	select {
	case err := <-ended:
		return errors.Join(errUnasked, err)
	case s := <-signals:
		return d.drain(s, signals)
	}
}

// drain lets connections end, until the drain timeout or the next signal.
func (d *daemon) drain(first os.Signal, signals <-chan os.Signal) error {
	if d.admin != nil {
		d.admin.Drain()
	}
	d.log.Info("draining", zap.Stringer("signal", first), zap.Duration("timeout", d.cfg.DrainTimeout))
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.DrainTimeout)
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
		d.log.Warn("stopped: the drain timeout has passed, and the connections that were left were closed")
	case ctx.Err() != nil:
		d.log.Warn("stopped: a second signal has closed the connections that were left")
	default:
		d.log.Info("stopped: every connection has ended")
	}
	return nil
}

func (d *daemon) closeAdmin() error {
	if d.admin == nil {
		return nil
	}
	return d.admin.Close()
}
