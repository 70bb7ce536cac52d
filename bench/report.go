package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/stats"
	"github.com/reactord/reactord/bench/units"
)

// suiteReport is the result of a suite. Its JSON has every sample.
type suiteReport struct {
	Machine suiteMachine  `json:"machine"`
	Rounds  int           `json:"rounds"`
	Time    time.Duration `json:"time_ns"`
	Peers   []peerVersion `json:"peers"`
	Cases   []*caseReport `json:"cases"`
	Failed  string        `json:"failed,omitempty"` // why it ended early
}

// peerVersion is the version of a peer, or why it is missing.
type peerVersion struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Missing string `json:"missing,omitempty"`
}

type caseReport struct {
	*benchCase
	Peers []*peerReport `json:"peers"`
}

type peerReport struct {
	peer    *peer
	Name    string    `json:"name"`
	Samples []*sample `json:"samples"`
	Failed  string    `json:"failed,omitempty"`
	Figures []float64 `json:"-"` // one for each round; NaN: not measured
}

// addPeer adds the version of a peer. A peer that is in several cases is added once.
func (r *suiteReport) addPeer(name, version string, err error) {
	p := peerVersion{Name: name, Version: version}
	if err != nil {
		p.Missing = err.Error()
	}
	if !slices.Contains(r.Peers, p) {
		r.Peers = append(r.Peers, p)
	}
}

// failed reports whether a peer that is not missing could not be measured.
func (r *suiteReport) failed() bool {
	for _, c := range r.Cases {
		for _, p := range c.Peers {
			if p.Failed != "" {
				return true
			}
		}
	}
	return false
}

func (r *suiteReport) allMet() bool {
	for _, c := range r.Cases {
		for _, claim := range c.Claims {
			if s := c.measured(claim); !(s.Median <= claim.Limit) {
				return false
			}
		}
	}
	return true
}

// figures returns the figures of a peer, one for each round; nil if not measured.
func (c *caseReport) figures(name string) []float64 {
	for _, p := range c.Peers {
		if p.Name == name {
			return p.Figures
		}
	}
	return nil
}

// measured returns the values that decide a claim: the ratios to its reference in the same round, or the figures.
func (c *caseReport) measured(cl claim) stats.Summary {
	if cl.Ref == "" {
		return stats.Of(c.figures(cl.Peer))
	}
	return stats.Of(stats.Ratios(c.figures(cl.Peer), c.figures(cl.Ref)))
}

// method describes how it was measured.
func (r *suiteReport) method() string {
	return fmt.Sprintf("Server on CPU %d, clients and upstream on CPU %d; %d rounds of %v a measurement. "+
		"Values are medians, in brackets the extremes; ratios are taken within a round, and less is better.",
		r.Machine.ServerCPU, r.Machine.LoadCPU, r.Rounds, r.Time)
}

// markdown returns the report as Markdown.
func (r *suiteReport) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", r.Machine, r.method())
	if r.Failed != "" {
		fmt.Fprintf(&b, "**Ended early: %s.**\n\n", r.Failed)
	}
	for _, p := range r.Peers {
		if p.Missing != "" {
			fmt.Fprintf(&b, "- %s: **missing**: %s\n", p.Name, p.Missing)
		} else {
			fmt.Fprintf(&b, "- %s: %s\n", p.Name, p.Version)
		}
	}
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "\n### %s\n\n", c.Title)
		if len(c.Peers) == 0 {
			b.WriteString("No peer was measured.\n")
			continue
		}
		writeTable(&b, c.table())
	}
	b.WriteString("\n### Claims\n\n| case | claim | measured | |\n|---|---|---:|---|\n")
	for _, row := range r.claims() {
		writeRow(&b, row)
	}
	return b.String()
}

// table returns a row for each peer, under a row of headings.
func (c *caseReport) table() [][]string {
	head := []string{"server", c.Method.Unit}
	for _, ref := range c.Refs {
		head = append(head, "× "+ref)
	}
	if c.Method.Speed != "" {
		head = append(head, c.Method.Speed, "server busy", "load busy", "disturbed")
	}
	if c.Rate != 0 {
		head = append(head, "p50", "p99")
	}
	table := [][]string{head}
	for _, p := range c.Peers {
		if p.Failed != "" {
			table = append(table, append([]string{p.Name, "failed: " + p.Failed}, make([]string, len(head)-2)...))
			continue
		}
		row := []string{p.Name, stats.Of(p.Figures).Format(2)}
		for _, ref := range c.Refs {
			row = append(row, stats.Of(stats.Ratios(p.Figures, c.figures(ref))).Format(2))
		}
		if c.Method.Speed != "" {
			row = append(row, p.rates()...)
		}
		if c.Rate != 0 {
			row = append(row, p.latencies()...)
		}
		table = append(table, row)
	}
	return table
}

// rates returns columns that show how reliable the figure is: messages, connections or MiB a second; the CPU share of
// each side (the side at 100 % sets the pace); and the share of the time that a side waited for its CPU, the larger one
// of both.
func (p *peerReport) rates() []string {
	var rate, server, load, disturbed []float64
	for _, s := range p.Samples {
		seconds := s.Result.Elapsed.Seconds()
		done := float64(s.Result.Messages)
		if s.Bytes != 0 {
			done = float64(s.Bytes) / (1 << 20)
		}
		rate = append(rate, done/seconds)
		server = append(server, 100*s.Result.ServerCPU.Seconds()/seconds)
		load = append(load, 100*s.Result.LoadCPU.Seconds()/seconds)
		wait := max(s.Result.ServerWait, s.Result.LoadWait)
		disturbed = append(disturbed, 100*wait.Seconds()/seconds)
	}
	return []string{
		fmt.Sprintf("%.0f", stats.Of(rate).Median),
		fmt.Sprintf("%.0f %%", stats.Of(server).Median),
		fmt.Sprintf("%.0f %%", stats.Of(load).Median),
		fmt.Sprintf("%.0f %%", stats.Of(disturbed).Median),
	}
}

// latencies returns the columns of an open loop: the round-trip times.
func (p *peerReport) latencies() []string {
	var p50, p99 []float64
	for _, s := range p.Samples {
		p50 = append(p50, float64(s.Result.Median))
		p99 = append(p99, float64(s.Result.P99))
	}
	return []string{
		units.Duration(time.Duration(stats.Of(p50).Median)),
		units.Duration(time.Duration(stats.Of(p99).Median)),
	}
}

// claims returns a row for each claim: the case, the claim, what was measured, and the verdict.
func (r *suiteReport) claims() (rows [][]string) {
	for _, c := range r.Cases {
		for _, cl := range c.Claims {
			found := c.measured(cl)
			verdict := "not met"
			switch {
			case math.IsNaN(found.Median):
				verdict = "not measured"
			case found.Median <= cl.Limit:
				verdict = "met"
			}
			rows = append(rows, []string{c.Name, cl.text(c.Method.Unit), found.Format(3), verdict})
		}
	}
	return rows
}

// writeTable writes a table. All columns except the first are numbers.
func writeTable(b *strings.Builder, table [][]string) {
	writeRow(b, table[0])
	b.WriteString("|---" + strings.Repeat("|---:", len(table[0])-1) + "|\n")
	for _, row := range table[1:] {
		writeRow(b, row)
	}
}

func writeRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		b.WriteString("| " + strings.NewReplacer("|", "\\|", "\n", " ").Replace(cell) + " ")
	}
	b.WriteString("|\n")
}
