package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/report"
	"github.com/reactord/reactord/bench/server"
	"github.com/reactord/reactord/bench/trial"
	"github.com/reactord/reactord/reactor"
)

// loadFlags are the flags of all modes.
type loadFlags struct {
	Target      string        `required:"" placeholder:"URL" help:"tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, unix:///PATH or unix://@NAME."`
	Connections int           `short:"c" default:"${connections=50}" help:"${connections_help=Number of connections, of all loops together.}"`
	Time        time.Duration `short:"t" default:"${time=10s}" help:"Duration of the measurement, for each rate."`
	WarmUp      time.Duration `name:"warmup" default:"1s" help:"Duration of load before the measurement that is not counted."`
	Rate        quantity      `default:"${rate=0}" placeholder:"N" help:"Open loop: messages a second, of all connections together, such as 10k."`
	Step        []quantity    `name:"step" placeholder:"N,…" help:"Open loop: measure at each of these rates, one after another."`
	Ramp        time.Duration `placeholder:"TIME" help:"Before the measurement, the rate grows from 0 over this time."`
	FindMax     string        `placeholder:"DEMANDS" help:"Find the highest rate that meets these demands, such as p99<5ms,errors=0, and measure it."`
	Trial       time.Duration `default:"2s" help:"Duration of each trial of --find-max."`
	Tries       int           `default:"2" help:"How often --find-max tries a rate before it goes lower."`
	Repeats     int           `default:"1" help:"Number of measurements. A comparison needs 5."`
	Arrivals    string        `enum:"even,poisson" default:"even" help:"Open loop: messages are evenly spaced, or a Poisson process."`

	Loops       int              `default:"1" help:"Number of loops, each on its own thread."`
	Ring        string           `enum:"auto,io_uring,epoll" default:"auto" help:"The ring of the loops."`
	Pin         bool             `help:"Pin each loop's thread to a CPU."`
	ConnectRate quantity         `placeholder:"N" help:"Open at most this many connections a second. Default: no limit."`
	Source      string           `placeholder:"ADDRESSES" help:"Local addresses to connect from, round-robin: 127.0.0.2-127.0.0.9,127.0.1.1."`
	Ports       engine.PortRange `placeholder:"LOW-HIGH" help:"Local ports to connect from, within the range of the system. Needs Linux 6.3."`
	Timeout     time.Duration    `default:"5s" help:"Timeout of connect and of each reply."`
	GiveUp      time.Duration    `default:"3s" help:"End the run when only failures have occurred for this time."`
	Congestion  string           `placeholder:"NAME" help:"TCP congestion control, such as cubic. Default: the system's."`
	RecvBuffer  int              `placeholder:"BYTES" help:"Size of the sockets' receive buffers (SO_RCVBUF)."`
	Verify      bool             `help:"Compare every byte that comes back."`
	VerifyFirst bool             `help:"Compare every byte during the warm-up only, which is longer if none comes back, so that comparing costs nothing during the measurement."`
	Seed        uint64           `help:"Seed of every random choice. Default: a new one for each run."`
	tlsFlags

	Upstream string `placeholder:"URL" help:"Also run an echo server at this address, on the same loops: the upstream server of a target that is a proxy."`

	Pid        []int       `placeholder:"PID" help:"Processes of the target, whose CPU time and memory are read. Default: the processes that listen at the target, if they are visible."`
	Name       string      `placeholder:"TEXT" help:"Name of the result in comparisons. Default: the mode."`
	JSON       string      `name:"json" placeholder:"FILE" help:"Write the result to this file."`
	CSV        string      `name:"csv" placeholder:"FILE" help:"Write a line for each second to this file."`
	HLog       string      `name:"hlog" placeholder:"FILE" help:"Write every second's histograms to this file, in HdrHistogram's log format."`
	HTML       string      `name:"html" placeholder:"FILE" help:"Write a page with charts to this file."`
	Prometheus string      `placeholder:"HOST:PORT" help:"Serve /metrics at this address during the run."`
	soak       *trial.Soak // nil: the mode is not soak
	FailIf     []string    `sep:"none" placeholder:"DEMAND" help:"Exit with code 2 if this holds for a measured phase, such as 'p99>5ms' or 'errors>0'."`
}

// run generates a load of these parts.
func (f *loadFlags) run(ctx context.Context, mode string, parts ...engine.Part) error {
	if f.Seed == 0 {
		f.Seed = rand.Uint64()
	}
	cfg, err := f.config(parts)
	if err != nil {
		return err
	}
	bounds, err := f.bounds()
	if err != nil {
		return err
	}
	plan, err := f.plan()
	if err != nil {
		return err
	}
	if f.Upstream != "" {
		upstream, err := server.Open(server.Config{Listen: f.Upstream, Behaviour: "echo", Style: "receiver",
			Loops: min(f.Loops, f.Connections)})
		if err != nil {
			return err
		}
		cfg.Beside = upstream.On
	}
	r := &trial.Run{Load: cfg, Plan: plan, Name: f.Name, Mode: mode, Arguments: os.Args[1:], Processes: f.Pid,
		Soak: f.soak}
	if r.Name == "" {
		r.Name = mode
	}
	out, err := f.outputs(r)
	if err != nil {
		return err
	}
	res, failed := r.Do(ctx)
	err = errors.Join(report.Table(os.Stdout, res), out.close(res))
	if failed != nil {
		return errors.Join(failed, err)
	}
	if err != nil {
		return err
	}
	return exceeded(bounds, res)
}

func (f *loadFlags) config(parts []engine.Part) (cfg engine.Config, err error) {
	cfg = engine.Config{Parts: parts, Connections: f.Connections, ConnectRate: float64(f.ConnectRate), Loops: f.Loops,
		Ports: f.Ports,
		Ring:  reactor.RingKind(f.Ring), Pin: f.Pin, Timeout: f.Timeout, GiveUp: f.GiveUp, Poisson: f.Arrivals == "poisson",
		Verify: f.Verify, Seed: f.Seed, Congestion: f.Congestion, RecvBuffer: f.RecvBuffer}
	if cfg.Target, err = engine.ParseTarget(f.Target); err != nil {
		return cfg, err
	}
	if cfg.Sources, err = engine.ParseSources(f.Source); err != nil {
		return cfg, err
	}
	if cfg.Target.Scheme == "tls" {
		cfg.TLS, err = f.tlsFlags.config(cfg.Target)
	}
	return cfg, err
}

func (f *loadFlags) plan() (p trial.Plan, err error) {
	p = trial.Plan{Time: f.Time, WarmUp: f.WarmUp, Ramp: f.Ramp, Repeats: f.Repeats, Trial: f.Trial, Tries: f.Tries,
		Compare: f.VerifyFirst}
	if f.Rate != 0 {
		p.Rates = append(p.Rates, float64(f.Rate))
	}
	for _, r := range f.Step {
		p.Rates = append(p.Rates, float64(r))
	}
	if f.FindMax != "" {
		p.Demands, err = trial.ParseDemands(f.FindMax)
	}
	return p, err
}

func (f *loadFlags) bounds() (all trial.Demands, err error) {
	for _, text := range f.FailIf {
		d, err := trial.ParseDemands(text)
		if err != nil {
			return nil, fmt.Errorf("--fail-if: %w", err)
		}
		all = append(all, d...)
	}
	return all, nil
}

// errExceeded makes the program end with exit code 2.
var errExceeded = errors.New("a bound is exceeded")

// exceeded returns an error if any bound holds for a measured phase.
func exceeded(bounds trial.Demands, res *record.Result) error {
	for _, b := range bounds {
		if slices.ContainsFunc(res.Measured(), trial.Demands{b}.Hold) {
			return fmt.Errorf("%w: %v", errExceeded, b)
		}
	}
	return nil
}

// quantity is a number with an optional unit: 10k, 1.5M.
type quantity float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *quantity) UnmarshalText(text []byte) error {
	digits, unit := string(text), 1.0
	for suffix, factor := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = rest, factor
			break
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 || n > 1e12 {
		return fmt.Errorf("%q is not a number: examples are 500, 10k and 1.5M", text)
	}
	*q = quantity(n * unit)
	return nil
}
