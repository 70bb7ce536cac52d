package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

// proxyCommand configures one listener and one backend by flags.
type proxyCommand struct {
	Listen config.Address   `required:"" placeholder:"tcp://HOST:PORT" help:"Address to listen on: tcp://HOST:PORT (port 0: any free port), udp://HOST:PORT, unix:///PATH, unix://@NAME, or fd://NAME of a socket that systemd has opened."`
	To     []config.Address `required:"" placeholder:"tcp://HOST:PORT" help:"Server to proxy to: tcp://HOST:PORT, also behind a listener of UDP or a unix socket, or unix:///PATH. Repeat it for more servers: of two at random, the one with fewer connections; the next one if it cannot be reached."`

	MaxConnections   int           `placeholder:"N" help:"Maximum number of open connections; further ones wait in the kernel's queue. 0: as many as the limit on open files allows."`
	ConnectTimeout   time.Duration `default:"${connect_timeout}" help:"How long connecting to a server may take before the next one is tried (${default})."`
	IdleTimeout      time.Duration `default:"${idle_timeout}" help:"How long a connection may be open while no byte moves; 0s: without limit (${default})."`
	HalfCloseTimeout time.Duration `default:"${half_close_timeout}" help:"How long a half-closed connection may be open while no byte moves; 0s: without limit (${default})."`
	Buffer           config.Size   `default:"${buffer}" help:"Maximum number of bytes in flight in each direction (${default})."`

	Ring         string         `default:"${ring}" help:"Kernel interface: ${rings} (${default})."`
	Loops        int            `placeholder:"N" help:"Number of I/O threads. 0: one for each CPU."`
	Pin          bool           `help:"Bind each I/O thread to a CPU of its own."`
	IncomingCPU  bool           `help:"Let each I/O thread accept what its own CPU receives. It requires --pin."`
	MinWait      time.Duration  `placeholder:"TIME" help:"How long an idle I/O thread sleeps at least, such as 350us: less CPU time, more latency. 0s: until there is something to do."`
	User         string         `placeholder:"NAME" help:"User that the process runs as, if root starts it."`
	Group        string         `placeholder:"NAME" help:"Group of the process; by default the user's."`
	Metrics      config.Address `placeholder:"HOST:PORT" help:"Address of the HTTP server for /metrics, /livez and /readyz."`
	Admin        string         `placeholder:"ADDRESS" help:"Address of the admin API: unix:///PATH, or tcp:// and a loopback address."`
	DrainTimeout time.Duration  `default:"${drain_timeout}" help:"How long open connections may take to end after SIGTERM before they are reset (${default})."`
	LogLevel     string         `default:"${log_level}" help:"Least severe level to log: ${log_levels} (${default})."`
	LogFormat    string         `default:"${log_format}" help:"Format of the log: ${log_formats} (${default})."`
}

// account returns the user and the group of the flags.
func (c proxyCommand) account() (user, group string) { return c.User, c.Group }

// Run runs the daemon with the configuration of the flags.
func (c proxyCommand) Run(inherited *daemon.Inherited) error {
	cfg := c.config()
	if err := flagErrors(cfg.Validate()); err != nil {
		return err
	}
	return daemon.Run(daemon.Config{Loader: loader.FromConfig(cfg, flagErrors), Inherited: inherited})
}

func (c proxyCommand) config() *config.Config {
	cfg := config.New()
	cfg.Ring, cfg.Loops, cfg.Pin, cfg.IncomingCPU, cfg.MinWait = c.Ring, c.Loops, c.Pin, c.IncomingCPU, c.MinWait
	cfg.User, cfg.Group = c.User, c.Group
	cfg.Metrics.Address, cfg.Admin.Address = c.Metrics, c.Admin
	cfg.Metrics.Detail = config.FullDetail // of one listener and one backend
	cfg.Drain.Timeout = c.DrainTimeout
	cfg.Log = config.Log{Level: c.LogLevel, Format: c.LogFormat}

	l := config.NewListener()
	l.Name, l.Address, l.Backend, l.MaxConnections = "proxy", c.Listen, "servers", c.MaxConnections
	cfg.Listeners = []config.Listener{l}

	b := config.NewBackend()
	b.Name, b.Buffer = l.Backend, c.Buffer
	b.ConnectTimeout, b.IdleTimeout, b.HalfCloseTimeout = c.ConnectTimeout, c.IdleTimeout, c.HalfCloseTimeout
	for _, to := range c.To {
		s := config.NewServer()
		s.Address = to
		b.Servers = append(b.Servers, s)
	}
	cfg.Backends = []config.Backend{b}
	return cfg
}

// errFlags matches every error of the command line.
var errFlags = errors.New("wrong command line")

// flagError is a problem of a configuration made from flags. It names the flag instead of the setting.
type flagError config.Problem

func (e flagError) Error() string {
	flag, other := flagOf(e.Path), flagOf(e.Other)
	if e.Other == "" || other == flag {
		return flag + ": " + e.Text
	}
	return flag + ": " + e.Text + "; see " + other
}

func (e flagError) Is(target error) bool { return target == errFlags && e.Err == nil }
func (e flagError) Unwrap() error        { return e.Err }

func flagErrors(problems []config.Problem) error {
	errs := make([]error, 0, len(problems))
	for _, p := range problems {
		errs = append(errs, flagError(p))
	}
	return errors.Join(errs...)
}

// flagOf returns the flag of the setting at a path of the configuration.
func flagOf(path string) string {
	switch {
	case path == "metrics.address", path == "admin.address":
		return "--" + strings.TrimSuffix(path, ".address")
	case strings.Contains(path, ".servers"):
		return "--to"
	case strings.HasSuffix(path, ".address"):
		return "--listen"
	}
	if i := strings.Index(path, "]."); i >= 0 {
		path = path[i+2:]
	}
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(path)
}
