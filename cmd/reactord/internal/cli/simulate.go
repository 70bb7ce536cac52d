package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory"
	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
)

// simulateCommand plays what becomes of clients on simulated machines.
type simulateCommand struct {
	Config   string  `short:"c" placeholder:"FILE" help:"Configuration file. Default: the one that --scenario names."`
	Scenario string  `placeholder:"FILE" help:"File of a scenario: what happens, and what is expected. Default: each server, zone and network fails, one after the other."`
	Old      string  `placeholder:"FILE" help:"Configuration file that is replaced by that of --new while clients come."`
	New      string  `placeholder:"FILE" help:"Configuration file that replaces that of --old."`
	Diff     bool    `help:"With --old and --new: what differs if something goes wrong, by the one and by the other, instead."`
	Rate     float64 `placeholder:"N" help:"Clients of which nothing is said, in a second. Default: three fifths of what the limits allow, at most 100."`
	Seeds    int     `default:"1" placeholder:"N" help:"Number of times that each is played, with other random choices."`
	From     uint64  `default:"1" placeholder:"SEED" help:"The first seed."`
	Trace    bool    `help:"With --scenario: print each step of the run."`
	Shrink   bool    `help:"With --scenario: look for a smaller one that fails in the same way."`
	JSON     bool    `name:"json" help:"Print the runs as JSON; not with --old, --trace and --shrink."`
	HTML     string  `name:"html" placeholder:"FILE" help:"Write a page with charts, too."`
}

// errSimulated reports that something is not as expected.
var errSimulated = errors.New("clients fail that should not")

// Run simulates. The error matches errSimulated if an expectation does not hold, or there are findings.
func (c simulateCommand) Run() error {
	if err := c.check(); err != nil {
		return err
	}
	debug.SetGCPercent(800) // a run allocates much, and holds little
	ctx, w := context.Background(), bufio.NewWriter(os.Stdout)
	page := &laboratory.Page{}
	var err error
	switch {
	case c.Scenario != "":
		err = c.play(ctx, w, page)
	case c.Diff:
		err = c.diff(ctx, w)
	case c.Old != "":
		err = c.change(ctx, w, page)
	default:
		err = c.whatIf(ctx, w, page)
	}
	if err == nil || errors.Is(err, errSimulated) {
		if !c.JSON {
			fmt.Fprintf(w, "\n%s\n", laboratory.Honesty)
		}
		if c.HTML != "" {
			err = errors.Join(err, c.write(page))
		}
	}
	return errors.Join(err, w.Flush())
}

// The limits of flags.
const (
	mostRate = 100_000 // clients in a second
	mostSeed = 1 << 31
)

// check finds flags that do not belong together.
func (c *simulateCommand) check() error {
	switch {
	case (c.Old == "") != (c.New == ""):
		return fmt.Errorf("%w: --old and --new belong together", errFlags)
	case c.Old != "" && (c.Scenario != "" || c.Config != ""):
		return fmt.Errorf("%w: --old and --new exclude --config and --scenario", errFlags)
	case c.Diff && c.Old == "":
		return fmt.Errorf("%w: --diff needs --old and --new", errFlags)
	case c.Scenario == "" && (c.Trace || c.Shrink):
		return fmt.Errorf("%w: --trace and --shrink need --scenario", errFlags)
	case c.Scenario == "" && c.Config == "" && c.Old == "":
		return fmt.Errorf("%w: write --config, --scenario, or --old and --new", errFlags)
	case c.JSON && (c.Old != "" || c.Trace || c.Shrink):
		return fmt.Errorf("%w: --json excludes --old, --trace and --shrink", errFlags)
	case c.HTML != "" && (c.Diff || c.Shrink):
		return fmt.Errorf("%w: --html excludes --diff and --shrink", errFlags)
	case c.Rate > 0 && c.Scenario != "":
		return fmt.Errorf("%w: --rate has no effect with --scenario: write rate in its file", errFlags)
	case c.Seeds < 1:
		return fmt.Errorf("%w: --seeds is at least 1", errFlags)
	case c.From > mostSeed || c.Seeds > mostSeed:
		return fmt.Errorf("%w: --from and --seeds are at most %d", errFlags, mostSeed)
	case c.Seeds > 1 && c.Old != "" && !c.Diff:
		return fmt.Errorf("%w: a change is played with one seed: --seeds goes with --diff", errFlags)
	case !(c.Rate >= 0 && c.Rate <= mostRate):
		return fmt.Errorf("%w: --rate is from 0 to %d", errFlags, mostRate)
	}
	return nil
}

func (c *simulateCommand) write(p *laboratory.Page) error {
	f, err := os.Create(c.HTML)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}

func (c *simulateCommand) how() laboratory.WhatIfConfig {
	return laboratory.WhatIfConfig{Rate: c.Rate, Seeds: c.Seeds, First: c.From}
}

// play plays a scenario.
func (c *simulateCommand) play(ctx context.Context, w io.Writer, page *laboratory.Page) error {
	s, err := laboratory.ReadScenario(c.Scenario)
	if err != nil {
		return err
	}
	path := s.Config
	if c.Config != "" {
		path = c.Config
	}
	if path == "" {
		return fmt.Errorf("%w: %s names no config: write it there, or --config", errFlags, c.Scenario)
	}
	l, err := laboratory.Open(ctx, path)
	if err != nil {
		return err
	}
	built, err := l.Build(ctx, s)
	if err != nil {
		return err
	}
	if c.Shrink {
		return c.shrink(w, built, &s.Expect)
	}
	var trace io.Writer
	if c.Trace {
		trace = w
	}
	played, err := laboratory.Play(built, &s.Expect, c.From, c.Seeds, trace)
	if err != nil {
		return err
	}
	shown := played.Runs[0]
	if len(played.Failed) > 0 {
		shown = played.Runs[played.Failed[0]-c.From]
	}
	page.Title, page.Subtitle = c.Scenario, path
	page.Add(c.Scenario, shown)
	if c.JSON {
		if err := played.WriteJSON(w, &s.Expect); err != nil || len(played.Failed) == 0 {
			return err
		}
		return errSimulated
	}
	showRun(w, shown)
	fmt.Fprintln(w)
	for _, name := range played.Names {
		v := played.Verdicts[name]
		showVerdict(w, &v)
	}
	if c.Seeds > 1 {
		fmt.Fprintf(w, "\n%d of %d seeds hold\n", c.Seeds-len(played.Failed), c.Seeds)
	}
	if len(played.Failed) > 0 {
		fmt.Fprintf(w, "\nseed %d fails: --from %[1]d --trace prints each of its steps, --from %[1]d --shrink looks for a "+
			"smaller one\n", shown.Seed)
		return errSimulated
	}
	return nil
}

// showVerdict prints what has come of an expectation.
func showVerdict(w io.Writer, v *laboratory.Verdict) {
	mark := "ok  "
	if !v.Holds {
		mark = "FAIL"
	}
	fmt.Fprintf(w, "%s  %s: %s, expected %s\n", mark, v.Name, v.Got, v.Bound)
	if !v.Holds && v.Moment != "" {
		fmt.Fprintf(w, "        %s\n", plain(v.Moment))
	}
}

// shrink prints what a scenario can do without.
func (c *simulateCommand) shrink(w io.Writer, s *simulation.Scenario, e *laboratory.SimulatedExpectation) error {
	smaller, left, err := laboratory.Shrink(s, e, c.From)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "seed %d fails in the same way\n", c.From)
	for _, text := range left {
		fmt.Fprintf(w, "  %s\n", plain(text))
	}
	r, err := simulation.Run(smaller, c.From, nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	showRun(w, r)
	fmt.Fprintln(w)
	for _, v := range e.Judge(r) {
		showVerdict(w, &v)
	}
	return errSimulated
}

// showRun prints a run.
func showRun(w io.Writer, r *simulation.Result) {
	fmt.Fprintf(w, "%d clients in %v, seed %d: %d answered", r.Clients, r.Duration, r.Seed,
		r.Outcomes[simulation.Answered])
	for _, o := range []simulation.Outcome{
		simulation.Refused, simulation.Broken, simulation.Late, simulation.Changed, simulation.Unended,
	} {
		if n := r.Outcomes[o]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, o)
		}
	}
	fmt.Fprint(w, "\n\n")
	laboratory.Timeline(w, r, 60)
	fmt.Fprintln(w)
	const most = 40
	for i := range r.Marks {
		if m := &r.Marks[i]; i < most {
			fmt.Fprintf(w, "%10v  %s", m.At.Round(time.Millisecond), plain(m.Text))
			if m.Times > 1 {
				fmt.Fprintf(w, " (%d times until %v)", m.Times, m.Last.Round(time.Millisecond))
			}
			fmt.Fprintln(w)
		}
	}
	if n := len(r.Marks) - most; n > 0 {
		fmt.Fprintf(w, "            and %d more\n", n)
	}
	if len(r.Groups) > 1 {
		t := newTable("CLIENTS", ">ANSWERED", ">FAILED")
		for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
			t.add(name, r.Groups[name].Answered, r.Groups[name].Failed)
		}
		fmt.Fprintln(w)
		t.write(w, nil)
	}
	t := newTable("SERVER", "ADDRESS", "STATE", ">CONNECTIONS", ">MOST")
	for _, s := range r.Servers {
		t.add(s.Backend+"/"+s.Name, s.Address, s.State, s.Connections, s.Peak)
	}
	fmt.Fprintln(w)
	t.write(w, nil)
}

// whatIf lets everything fail, one after the other.
func (c *simulateCommand) whatIf(ctx context.Context, w io.Writer, page *laboratory.Page) error {
	l, err := laboratory.Open(ctx, c.Config)
	if err != nil {
		return err
	}
	rows, err := l.WhatIf(ctx, c.how())
	if err != nil {
		return err
	}
	if c.JSON {
		err = laboratory.WriteWhatIf(w, rows)
	} else {
		showWhatIf(w, rows)
	}
	if err != nil {
		return err
	}
	page.Title, page.Subtitle, page.Rows = c.Config, fmt.Sprintf("%d of each", c.Seeds), rows
	for i := range rows {
		for _, f := range rows[i].Findings {
			page.Findings = append(page.Findings, rows[i].What+": "+f)
		}
		page.Add(rows[i].What, rows[i].Run)
	}
	if n := laboratory.Found(rows); n > 0 {
		return fmt.Errorf("%w: %d findings", errSimulated, n)
	}
	return nil
}

// showWhatIf prints what becomes of clients, and what somebody should look at.
func showWhatIf(w io.Writer, rows []laboratory.WhatIf) {
	t := newTable("WHAT IF", ">CLIENTS", ">REFUSED", ">BROKEN", ">LATE", ">FAIL FOR", ">RETRIES", ">WAIT", ">SLOWEST",
		">MOST", "LEFT")
	for i := range rows {
		r := &rows[i]
		t.add(r.What, r.Clients, r.Refused, r.Broken, r.Late, r.FailFor(), r.Retries, r.Wait.Round(time.Millisecond),
			r.Slowest.Round(time.Millisecond), r.Peak, r.Left)
	}
	t.write(w, nil)
	for i := range rows {
		for _, f := range rows[i].Findings {
			fmt.Fprintf(w, "\n%s: %s", plain(rows[i].What), plain(f))
		}
	}
	if laboratory.Found(rows) > 0 {
		fmt.Fprintln(w)
	}
}

// change plays how a configuration is replaced.
func (c *simulateCommand) change(ctx context.Context, w io.Writer, page *laboratory.Page) error {
	older, newer, err := c.both(ctx)
	if err != nil {
		return err
	}
	out, err := older.Compare(ctx, newer, c.how())
	if err != nil {
		return err
	}
	showRun(w, out.Run)
	t := newTable("SERVER", ">BEFORE", ">AFTER")
	for _, m := range out.Servers {
		t.add(m.Server, fmt.Sprintf("%.1f%%", m.Before), fmt.Sprintf("%.1f%%", m.After))
	}
	fmt.Fprintln(w)
	t.write(w, nil)
	fmt.Fprintf(w, "\nof the clients that were there, %d have failed; of those that came after it, %d\n",
		out.Broken, out.Failed)
	for i := range out.Run.Failures {
		fmt.Fprintf(w, "  %s\n", plain(out.Run.Failures[i].String()))
	}
	page.Title, page.Subtitle = c.Old+" → "+c.New, "the change under load"
	page.Add("the change", out.Run)
	if out.Broken+out.Failed > 0 {
		return errSimulated
	}
	return nil
}

func (c *simulateCommand) both(ctx context.Context) (older, newer *laboratory.Laboratory, err error) {
	if older, err = laboratory.Open(ctx, c.Old); err != nil {
		return nil, nil, err
	}
	newer, err = laboratory.Open(ctx, c.New)
	return older, newer, err
}

// diff prints the rows of what if that differ between two configurations.
func (c *simulateCommand) diff(ctx context.Context, w io.Writer) error {
	older, newer, err := c.both(ctx)
	if err != nil {
		return err
	}
	how := c.how()
	how.Rate = cmp.Or(how.Rate, older.Rate()) // the same clients come to both
	before, err := older.WhatIf(ctx, how)
	if err != nil {
		return err
	}
	after, err := newer.WhatIf(ctx, how)
	if err != nil {
		return err
	}
	rows := laboratory.Differing(before, after)
	if len(rows) == 0 {
		fmt.Fprintln(w, "the two do the same, but for small differences")
	} else {
		showWhatIf(w, rows)
	}
	if laboratory.Found(after) > 0 {
		return errSimulated
	}
	return nil
}
