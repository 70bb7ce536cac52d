package main

import (
	"errors"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// proxyCommand is a configuration with one listener and one backend, as flags.
type proxyCommand struct {
	Listen config.Address   `required:"" placeholder:"tcp://HOST:PORT" help:"Where to take connections. Port 0: any free one."`
	To     []config.Address `required:"" placeholder:"tcp://HOST:PORT" help:"A server to pass them on to. Repeat it for more servers."`

	MaxConnections   int           `placeholder:"N" help:"Connections open at a time, at most; further ones wait to be accepted. 0: as many as the limit on open files allows."`
	ConnectTimeout   time.Duration `default:"${connect_timeout}" help:"How long connecting to a server may take (${default})."`
	IdleTimeout      time.Duration `default:"${idle_timeout}" help:"How long a connection may be open with no byte passing; 0s: for ever (${default})."`
	HalfCloseTimeout time.Duration `default:"${half_close_timeout}" help:"How long, after one side has sent its end, a connection may be open with no byte passing; 0s: for ever (${default})."`
	Buffer           config.Size   `default:"${buffer}" help:"Bytes held for a direction, at most (${default})."`

	Ring         string         `default:"${ring}" help:"How to speak to the kernel: ${rings} (${default})."`
	Loops        int            `placeholder:"N" help:"I/O threads. 0: one for each CPU."`
	Pin          bool           `help:"Give each loop a CPU of its own."`
	MinWait      time.Duration  `placeholder:"TIME" help:"How long a loop that goes to sleep stays asleep at least: latency for CPU time. Such as 350us."`
	Metrics      config.Address `placeholder:"HOST:PORT" help:"Where to serve /metrics, /livez and /readyz over HTTP."`
	DrainTimeout time.Duration  `default:"${drain_timeout}" help:"How long connections may take to end after SIGTERM (${default})."`
	LogLevel     string         `default:"${log_level}" help:"Least severe level logged: ${log_levels} (${default})."`
	LogFormat    string         `default:"${log_format}" help:"Form of the log: ${log_formats} (${default})."`
}

// Run is the daemon as the flags have it.
func (c proxyCommand) Run() error {
	cfg := c.config()
	if err := flagErrors(cfg.Validate()); err != nil {
		return err
	}
	return run(cfg, flagErrors, nil)
}

func (c proxyCommand) config() *config.Config {
	return &config.Config{
		Ring:         c.Ring,
		Loops:        c.Loops,
		Pin:          c.Pin,
		MinWait:      c.MinWait,
		Metrics:      c.Metrics,
		DrainTimeout: c.DrainTimeout,
		Log:          config.Log{Level: c.LogLevel, Format: c.LogFormat},
		Listeners: []config.Listener{{
			Name:           "proxy",
			Address:        c.Listen,
			Backend:        "servers",
			MaxConnections: c.MaxConnections,
		}},
		Backends: []config.Backend{{
			Name:             "servers",
			Servers:          c.To,
			ConnectTimeout:   c.ConnectTimeout,
			IdleTimeout:      c.IdleTimeout,
			HalfCloseTimeout: c.HalfCloseTimeout,
			Buffer:           c.Buffer,
		}},
	}
}

// errFlags is what an error of the command line matches.
var errFlags = errors.New("wrong command line")

// flagError is a problem of a configuration made of flags, with the flag behind it.
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

// flagOf is the flag that sets what is at a path of the configuration.
func flagOf(path string) string {
	switch {
	case strings.HasSuffix(path, ".address"):
		return "--listen"
	case strings.Contains(path, ".servers"):
		return "--to"
	}
	if i := strings.Index(path, "]."); i >= 0 {
		path = path[i+2:]
	}
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(path)
}
