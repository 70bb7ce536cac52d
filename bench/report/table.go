package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/units"
)

// Percentiles are the percentiles of tables.
var Percentiles = []float64{50, 90, 99, 99.9, 99.99}

// Table prints what a run measured.
func Table(out io.Writer, r *record.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "\n%s to %s: %d connections, %d loop(s) on %s", r.Mode, r.Target, r.Connections, r.Loops, r.Ring)
	if r.Verified {
		fmt.Fprint(out, ", every byte compared")
	}
	fmt.Fprint(out, "\n\n")
	for i := range r.Phases {
		p := &r.Phases[i]
		switch p.Kind {
		case record.SetUp:
			setUp(out, r, p)
		case record.Search:
			search(out, p)
		}
	}
	for _, p := range r.Measured() {
		phase(out, w, p)
	}
	soak(out, w, r)
	for _, text := range r.Warnings {
		fmt.Fprintf(out, "! %s\n", text)
	}
	if r.Failed != "" {
		fmt.Fprintf(out, "! ended early: %s\n", r.Failed)
	}
	return w.Flush()
}

func setUp(out io.Writer, r *record.Result, p *record.Phase) {
	w := p.Total()
	if w.Opened == 0 {
		return
	}
	fmt.Fprintf(out, "%d connections were opened in %s, %s/s, each in %s (p50), %s (p99)", w.Opened,
		units.Duration(time.Duration(p.Elapsed*1e9)), units.Count(float64(w.Opened)/max(p.Elapsed,
			1e-9)), units.Duration(w.Connect.At(50)), units.Duration(w.Connect.At(99)))
	if p.Target != nil && r.Mode == "hold" {
		fmt.Fprintf(out, "; the target needed %s and %.1f descriptors for each",
			units.Bytes(float64(p.Target.Memory)/float64(w.Opened)), float64(p.Target.Descriptors)/float64(w.Opened))
	}
	if w.Resumed > 0 {
		fmt.Fprintf(out, "; %d resumed a TLS session", w.Resumed)
	}
	fmt.Fprintln(out)
}

func search(out io.Writer, p *record.Phase) {
	verdict := "a closed loop reaches it"
	if p.Met != nil {
		if verdict = "not met"; *p.Met {
			verdict = "met"
		}
	}
	rate := p.Rate
	if rate == 0 {
		rate = p.Throughput()
	}
	fmt.Fprintf(out, "%10s/s  p99 %8s  %s\n", units.Count(rate), units.Duration(p.Total().Latency.At(99)), verdict)
}

// phase prints a measured phase.
func phase(out io.Writer, w *tabwriter.Writer, p *record.Phase) {
	fmt.Fprintf(out, "%s messages/s for %.1f s", units.Count(p.Throughput()), p.Elapsed)
	if p.Rate > 0 {
		fmt.Fprintf(out, " (%s/s planned)", units.Count(p.Rate))
	}
	sum := p.Total()
	elapsed := max(p.Elapsed, 1e-9)
	fmt.Fprintf(out, ", %s/s out, %s/s in", units.Bytes(float64(sum.BytesOut)/elapsed),
		units.Bytes(float64(sum.BytesIn)/elapsed))
	if cpu := p.CPUPerMessage(); cpu > 0 {
		fmt.Fprintf(out, ", %s of the target's CPU each", units.Duration(cpu))
	}
	fmt.Fprintf(out, ", generator %s busy\n", units.Percent(p.Busy))
	if sum.Verified > 0 {
		fmt.Fprintf(out, "%s compared\n", units.Bytes(float64(sum.Verified)))
	}
	if sum.Lost+sum.Reordered+sum.Duplicates > 0 {
		fmt.Fprintf(out, "%d lost (%s), %d reordered, %d duplicates\n", sum.Lost,
			units.Percent(float64(sum.Lost)/float64(max(sum.Sent, 1))), sum.Reordered, sum.Duplicates)
	}
	if sum.Resumed > 0 {
		fmt.Fprintf(out, "%d of %d connections resumed a TLS session\n", sum.Resumed, sum.Opened)
	}
	if n := sum.Errors.Total(); n > 0 {
		fmt.Fprintf(out, "failures: %v\n", sum.Errors)
	}
	if sum.Latency.Count()+sum.Connect.Count() == 0 {
		fmt.Fprintln(out)
		return // there are no messages, only bytes
	}
	header := []string{"", "count"}
	for _, q := range Percentiles {
		header = append(header, fmt.Sprintf("p%v", q))
	}
	fmt.Fprintf(w, "%s\t\n", strings.Join(append(header, "max", "mean"), "\t"))
	for _, part := range p.Parts {
		prefix := ""
		if len(p.Parts) > 1 {
			prefix = part.Name + " "
		}
		row(w, prefix+"latency", part.Latency)
		if p.Rate > 0 {
			row(w, prefix+"service time", part.Service)
			row(w, prefix+"schedule lag", part.Lag)
		}
		if part.Connect.Count() > 0 {
			row(w, prefix+"connect", part.Connect)
		}
	}
	_ = w.Flush() // the caller sees errors of out
	fmt.Fprintln(out)
}

func row(w io.Writer, name string, h *record.Histogram) {
	if h.Count() == 0 {
		return
	}
	cells := []string{name, fmt.Sprint(h.Count())}
	for _, q := range Percentiles {
		cells = append(cells, units.Duration(h.At(q)))
	}
	cells = append(cells, units.Duration(h.Max()), units.Duration(h.Mean()))
	fmt.Fprintf(w, "%s\t\n", strings.Join(cells, "\t"))
}

// ProgressLine returns a line about one second.
func ProgressLine(p record.Point) string {
	text := fmt.Sprintf("%6.1f s %-7s %8s/s %6d open p50 %8s p99 %8s max %8s", p.Seconds, p.Kind, units.Count(p.Rate()),
		p.Open,
		units.Duration(time.Duration(p.P50)), units.Duration(time.Duration(p.P99)), units.Duration(time.Duration(p.Max)))
	if n := p.Errors.Total(); n > 0 {
		text += fmt.Sprintf(" %d failures", n)
	}
	return text
}
