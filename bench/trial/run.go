package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/machine"
	"github.com/reactord/reactord/bench/record"
)

// Run is one run of the load generator.
type Run struct {
	Load engine.Config
	Plan Plan

	Name, Mode string   // for the result
	Arguments  []string // for the result
	Processes  []int    // of the target. Default: the ones that listen there, if visible

	// Progress, if not nil, is called once a second with the recorded point.
	Progress func(record.Point)
	// Log, if not nil, gets the histograms of every second.
	Log *record.Log
	// Soak, if not nil, watches whether the target grows.
	Soak *Soak

	result *record.Result
	g      *engine.Generator
	start  time.Time
}

// Do carries out the run. The result is never nil. An error is also in the result, except [ErrGrows].
func (r *Run) Do(ctx context.Context) (*record.Result, error) {
	r.start = time.Now()
	r.result = &record.Result{Schema: record.Schema, Name: r.Name, Mode: r.Mode, Target: r.Load.Target.URL,
		Arguments: r.Arguments, Started: r.start.UTC(), Seed: r.Load.Seed}
	err := r.do(ctx)
	switch {
	case err != nil:
		r.result.Failed = err.Error()
	case r.Soak != nil:
		err = judge(r.result)
	}
	r.warn()
	return r.result, err
}

func (r *Run) do(ctx context.Context) (err error) {
	if err := r.Plan.prepare(); err != nil {
		return err
	}
	res := r.result
	res.Machine = machine.This(ctx)
	r.findTarget()
	g, err := engine.New(r.Load)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r.g = g
	choice := g.Choice()
	res.Ring, res.RingReason = string(choice.Kind), choice.Reason
	res.Loops, res.Connections, res.Verified = max(r.Load.Loops, 1), g.Connections(), r.Load.Verify
	if r.Soak == nil {
		return r.phases(ctx)
	}
	ctx, r.Soak.lose = context.WithCancelCause(ctx)
	defer r.Soak.lose(nil)
	if err := r.Soak.begin(ctx, res); err != nil {
		return err
	}
	if err := r.phases(ctx); err != nil {
		return err
	}
	return r.Soak.settle(ctx, res, r.start)
}

// findTarget finds the processes of the target.
func (r *Run) findTarget() {
	target, res := r.Load.Target, r.result
	res.Processes = r.Processes
	if len(res.Processes) == 0 && target.Local() {
		network := target.Scheme
		if network == "tls" {
			network = "tcp"
		}
		res.Processes = machine.Listeners(network, target.Addr, target.Path)
	}
	for _, pid := range res.Processes {
		res.SharedCPUs = res.SharedCPUs || machine.Share(machine.CPUs(pid), res.Machine.Allowed)
	}
}

// phases runs all of them.
func (r *Run) phases(ctx context.Context) error {
	p := &r.Plan
	if _, err := r.phase(ctx, record.SetUp, 0, 0, 0); err != nil {
		return err
	}
	if p.WarmUp > 0 {
		if err := r.warmUp(ctx); err != nil {
			return err
		}
	}
	if p.Ramp > 0 {
		if _, err := r.phase(ctx, record.Ramp, p.Ramp, 0, p.first()); err != nil {
			return err
		}
	}
	rates := p.Rates
	if len(p.Demands) > 0 {
		best, err := r.search(ctx)
		if err != nil {
			return err
		}
		rates = []float64{best}
	}
	if len(rates) == 0 {
		rates = []float64{0}
	}
	for range p.Repeats {
		for _, rate := range rates {
			if _, err := r.phase(ctx, record.Measure, p.Time, rate, rate); err != nil {
				return err
			}
		}
	}
	return r.vain()
}

// warmUp warms up. If bytes are to be compared and none came back, as on a busy machine, it continues until some have,
// for up to 20 times as long again.
func (r *Run) warmUp(ctx context.Context) error {
	rate := r.Plan.first()
	for _, times := range []int{1, 4, 16} {
		p, err := r.phase(ctx, record.WarmUp, time.Duration(times)*r.Plan.WarmUp, rate, rate)
		if err != nil || !r.Plan.Compare || p.Total().Verified > 0 {
			return err
		}
	}
	return nil
}

// vain returns an error if there were only failures. A run may end without engine.ErrNoProgress although nothing came
// back: because it is short, or because its connections can be opened.
func (r *Run) vain() error {
	var sum record.Counts
	for _, p := range r.result.Measured() {
		sum.Add(&p.Total().Counts)
	}
	if sum.Sent == 0 || sum.Messages > 0 || sum.Errors.Total() == 0 {
		return nil
	}
	return fmt.Errorf("%w: only failures: %s", engine.ErrNoProgress, advised(sum.Errors))
}

// ErrUnmet is the error of a search when no rate meets the demands.
var ErrUnmet = errors.New("no rate meets the demands")

// search finds the highest rate that meets the demands. It begins at the rate of the plan, or at the rate that a closed
// loop reaches.
func (r *Run) search(ctx context.Context) (float64, error) {
	high := r.Plan.first()
	if high == 0 {
		p, err := r.phase(ctx, record.Search, r.Plan.Trial, 0, 0)
		if err != nil {
			return 0, err
		}
		high = 1.1 * p.Throughput()
	}
	low := 0.0
	for first := true; high-low > precision*high && high >= 1; first = false {
		rate := (low + high) / 2
		if first {
			rate = high
		}
		met, err := r.try(ctx, rate)
		switch {
		case err != nil:
			return 0, err
		case met && first: // the first rate is too low
			low, high = rate, 2*rate
		case met:
			low = rate
		default:
			high = rate
		}
	}
	if low == 0 {
		return 0, ErrUnmet
	}
	return low, nil
}

// try reports whether a rate meets the demands. A rate that does not is tried again, because other work on the machine
// may be the reason.
func (r *Run) try(ctx context.Context, rate float64) (bool, error) {
	for range r.Plan.Tries {
		p, err := r.phase(ctx, record.Search, r.Plan.Trial, rate, rate)
		if err != nil {
			return false, err
		}
		met := r.Plan.Demands.Met(p)
		if p.Met = &met; met {
			return true, nil
		}
	}
	return false, nil
}

// phase runs one phase and records it, also if it fails.
func (r *Run) phase(ctx context.Context, kind record.Kind, d time.Duration, from, to float64) (*record.Phase, error) {
	res := r.result
	res.Phases = append(res.Phases, record.Phase{Kind: kind, Rate: to, Start: time.Since(r.start).Seconds()})
	index := len(res.Phases) - 1
	p := &res.Phases[index]
	client, _ := machine.Use(os.Getpid()) // this process exists
	target, lost := machine.Use(res.Processes...)
	release := reserve()
	observe := func(s engine.Span) { r.observe(index, s) }
	var s engine.Span
	var err error
	if kind == record.SetUp {
		s, err = r.g.Open(ctx, observe)
	} else {
		s, err = r.g.Run(ctx, engine.Phase{Time: d, From: from, To: to, Verify: kind == record.WarmUp && r.Plan.Compare},
			observe)
	}
	for i, w := range s.Windows {
		p.Parts = append(p.Parts, record.PhasePart{Name: r.Load.Parts[i].Name, Window: w})
	}
	p.Elapsed, p.Open, p.Busy = s.Elapsed.Seconds(), s.Open, s.Busy
	release()
	after, _ := machine.Use(os.Getpid())
	p.Client = after.Since(client)
	if len(res.Processes) > 0 && lost == nil {
		if after, lost := machine.Use(res.Processes...); lost == nil {
			used := after.Since(target)
			p.Target = &used
		}
	}
	return p, err
}

// reserve keeps descriptors for reading /proc, because connections may use up all others.
func reserve() (release func()) {
	var files []*os.File
	for range 2 { // one for a directory, one for a file
		if f, err := os.Open(os.DevNull); err == nil {
			files = append(files, f)
		}
	}
	return func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// observe records a second.
func (r *Run) observe(phase int, s engine.Span) {
	sum := s.Windows[0]
	if len(s.Windows) > 1 {
		sum = record.NewWindow()
		for _, w := range s.Windows {
			sum.Add(w)
		}
	}
	now := time.Since(r.start)
	p := record.NewPoint(sum)
	p.Seconds, p.Length, p.Phase = now.Seconds(), s.Elapsed.Seconds(), phase
	p.Kind, p.Open, p.Busy = r.result.Phases[phase].Kind, s.Open, s.Busy
	r.result.Series = append(r.result.Series, p)
	if r.Progress != nil {
		r.Progress(p)
	}
	if r.Soak != nil && p.Whole() {
		r.Soak.observe(r.result, p)
	}
	if r.Log != nil {
		_ = r.Log.Write(now-s.Elapsed, now, sum) // the caller, who owns the writer, sees its error
	}
}
