package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/units"
	"github.com/reactord/reactord/reactor"
)

// pauseCommand measures for how long connections through the proxy stand still while an upgrade moves them.
type pauseCommand struct {
	Connections []int         `short:"c" default:"1000,10000,50000" help:"Numbers of connections, one measurement for each; fewer if the limit on open files is lower."`
	Rings       []string      `enum:"io_uring,epoll" default:"io_uring,epoll" help:"Rings of the proxy."`
	Loops       int           `default:"1" help:"Loops of the proxy."`
	Every       time.Duration `default:"1s" help:"Each connection sends a message with this period."`
	Size        int           `default:"64" help:"Bytes of a message."`
	Time        time.Duration `short:"t" default:"10s" help:"Duration of the window without an upgrade, and, at least, of that with one."`
	LoadLoops   int           `default:"1" help:"Loops of the load."`
	ServerCPU   int           `default:"0" help:"The CPU of the proxy."`
	LoadCPU     int           `default:"1" help:"The CPU of the load and of the servers."`
	JSON        string        `name:"json" placeholder:"FILE" help:"Write the results to this file."`
}

// pauseReport has the measurements of one run of the command. It is the file of --json.
type pauseReport struct {
	Machine suiteMachine  `json:"machine"`
	Runs    []*pauseRun   `json:"runs"`
	Every   time.Duration `json:"every_ns"`
	Size    int           `json:"message_bytes"`
	Notes   []string      `json:"notes,omitempty"` // what was not measured as it was asked for
}

// pauseRun is one measurement.
type pauseRun struct {
	Ring        string      `json:"ring"`
	Loops       int         `json:"loops"`
	Connections int         `json:"connections"`
	Quiet       pauseWindow `json:"quiet"`   // without an upgrade
	Upgrade     pauseWindow `json:"upgrade"` // with one

	Pause  pauseCounts     `json:"pause"`          // as the proxy counts it
	Served time.Duration   `json:"served_ns"`      // from the request until the new process served
	Ended  time.Duration   `json:"ended_ns"`       // from the request until the old process had ended; 0: it had not
	Moved  int             `json:"moved"`          // connections
	Stay   []pauseStay     `json:"stay,omitempty"` // connections
	Note   string          `json:"note,omitempty"` // of ctl upgrade
	Failed record.Failures `json:"failures"`       // of all messages
}

// pauseStay counts connections that have not moved.
type pauseStay struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// pauseWindow is what the clients saw for a time.
type pauseWindow struct {
	Seconds  float64           `json:"seconds"`
	Messages int64             `json:"messages"`
	Echo     *record.Histogram `json:"echo"`         // of each message: until its echo
	Longest  *record.Histogram `json:"longest"`      // of each connection: its longest one
	LoadBusy float64           `json:"client_busy"`  // CPU share of the busiest loop of the load, from 0 to 1
	LoadWait time.Duration     `json:"load_wait_ns"` // the load was ready to run, but without a CPU
}

// pauseCounts is the histogram reactord_handover_pause_seconds.
type pauseCounts struct {
	Count   uint64        `json:"count"`
	Seconds float64       `json:"sum_seconds"`
	Buckets []pauseBucket `json:"buckets"`
}

// pauseBucket counts what lasted no longer than Bound seconds.
type pauseBucket struct {
	Bound float64 `json:"le_seconds"`
	Count uint64  `json:"count"`
}

// mean returns the average pause.
func (p *pauseCounts) mean() time.Duration {
	return time.Duration(p.Seconds / float64(max(p.Count, 1)) * 1e9)
}

// Run measures all rings and numbers of connections, and prints a table.
func (c *pauseCommand) Run(ctx context.Context) error {
	if c.Every <= 0 || c.Time < c.Every || c.Loops < 1 || slices.Min(c.Connections) < 1 {
		return errors.New("--time must be --every or more, and --every, --connections and --loops positive")
	}
	if err := writable(c.JSON); err != nil {
		return err
	}
	w, err := newWorkshop(c.ServerCPU, c.LoadCPU)
	if err != nil {
		return err
	}
	defer w.close()
	rep, failed := c.measureAll(ctx, w, os.Stderr)
	_, err = io.WriteString(os.Stdout, rep.markdown())
	if c.JSON != "" {
		data, failed := json.MarshalIndent(rep, "", "\t")
		if failed == nil {
			failed = os.WriteFile(c.JSON, append(data, '\n'), 0o644)
		}
		err = errors.Join(err, failed)
	}
	return errors.Join(failed, err)
}

// measureAll returns what it has measured, also after an error.
func (c *pauseCommand) measureAll(ctx context.Context, w *workshop, progress io.Writer) (*pauseReport, error) {
	rep := &pauseReport{Machine: thisMachine(ctx, w), Every: c.Every, Size: c.Size}
	if _, err := w.buildReactord(ctx); err != nil {
		return rep, err
	}
	for _, ring := range c.Rings {
		if _, err := reactor.ChooseRing(reactor.RingKind(ring)); err != nil {
			rep.Notes = append(rep.Notes, fmt.Sprintf("%s was not measured: %v", ring, err))
			continue
		}
		measured := map[int]bool{}
		for _, wanted := range c.Connections {
			bed, err := newPauseBed(ctx, w, c, ring, wanted)
			if err != nil {
				return rep, fmt.Errorf("%s, %d connections: %w", ring, wanted, err)
			}
			n := bed.connections
			if n < wanted {
				rep.Notes = append(rep.Notes, fmt.Sprintf("%s: %d connections instead of %d: the limit on open files "+
					"(ulimit -n) allows no more", ring, n, wanted))
			}
			if measured[n] {
				bed.stop()
				continue
			}
			measured[n] = true
			run, err := bed.measure(ctx, c)
			bed.stop()
			if err != nil {
				return rep, fmt.Errorf("%s, %d connections: %w", ring, n, err)
			}
			rep.Runs = append(rep.Runs, run)
			fmt.Fprintf(progress, "%s, %d connections: the longest echo took %s, and %s without an upgrade\n", ring, n,
				units.Duration(run.Upgrade.Longest.Max()), units.Duration(run.Quiet.Longest.Max()))
		}
	}
	return rep, nil
}

// maxWait is the share of a window for which the load may wait for its CPU before the report warns of it.
const maxWait = 0.05

// markdown returns the tables.
func (r *pauseReport) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s Each connection sends %d B every %v.\n\n", r.Machine, r.Size, r.Every)
	b.WriteString("From a message to its echo:\n\n")
	writeRow(&b, []string{"ring", "loops", "connections", "window", "messages", "p50", "p99.9", "max",
		"longest of a connection: p50", "p99.9", "max", "load busy", "load waited"})
	b.WriteString("|---|---:|---:|---|" + strings.Repeat("---:|", 9) + "\n")
	for _, run := range r.Runs {
		run.row(&b, "quiet", &run.Quiet)
		run.row(&b, "upgrade", &run.Upgrade)
	}
	b.WriteString("\nThe upgrade, from its request on, and the pause of each connection as the proxy counts it, " +
		"rounded up (by 19 % at most):\n\n")
	writeRow(&b, []string{"ring", "loops", "connections", "the new process serves", "the old one has ended", "moved",
		"stayed", "pauses", "mean", "p50", "p99.9", "max"})
	b.WriteString("|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|\n")
	for _, run := range r.Runs {
		writeRow(&b, append(run.head(), units.Duration(run.Served), run.ended(), fmt.Sprint(run.Moved), run.stayed(),
			fmt.Sprint(run.Pause.Count), units.Duration(run.Pause.mean()), units.Duration(run.Pause.at(50)),
			units.Duration(run.Pause.at(99.9)), units.Duration(run.Pause.at(100))))
	}
	b.WriteString("\n")
	for _, run := range r.Runs {
		if n := run.Failed.Total(); n > 0 {
			fmt.Fprintf(&b, "! %s, %d connections: %d failures: %s\n", run.Ring, run.Connections, n, run.Failed)
		}
		for _, w := range []*pauseWindow{&run.Quiet, &run.Upgrade} {
			if w.LoadWait.Seconds() > maxWait*w.Seconds {
				fmt.Fprintf(&b, "! %s, %d connections: the load waited %s for its CPU, which other processes used\n", run.Ring,
					run.Connections, units.Duration(w.LoadWait))
			}
		}
		if run.Note != "" {
			fmt.Fprintf(&b, "! %s, %d connections: %s\n", run.Ring, run.Connections, run.Note)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "! %s\n", note)
	}
	return b.String()
}

func (r *pauseRun) head() []string {
	return []string{r.Ring, fmt.Sprint(r.Loops), fmt.Sprint(r.Connections)}
}

func (r *pauseRun) row(b *strings.Builder, name string, w *pauseWindow) {
	cells := append(r.head(), name, fmt.Sprint(w.Messages))
	for _, h := range []*record.Histogram{w.Echo, w.Longest} {
		cells = append(cells, units.Duration(h.At(50)), units.Duration(h.At(99.9)), units.Duration(h.Max()))
	}
	writeRow(b, append(cells, units.Percent(w.LoadBusy), units.Duration(w.LoadWait)))
}

func (r *pauseRun) ended() string {
	if r.Ended == 0 {
		return "no"
	}
	return units.Duration(r.Ended)
}

func (r *pauseRun) stayed() string {
	var parts []string
	for _, s := range r.Stay {
		parts = append(parts, fmt.Sprintf("%d (%s)", s.Count, s.Reason))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// at returns the bound of the bucket that has the percentile.
func (p *pauseCounts) at(percent float64) time.Duration {
	rank, seen := uint64(math.Ceil(float64(p.Count)*percent/100)), uint64(0)
	for _, b := range p.Buckets {
		if seen += b.Count; seen >= rank {
			return time.Duration(b.Bound * 1e9)
		}
	}
	return 0
}
