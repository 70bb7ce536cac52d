package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/compare"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/units"
	"github.com/reactord/reactord/internal/chart"
)

//go:embed page.html
var pageText string

// Style is the style sheet of pages. It has a light and a dark scheme.
var Style = chart.Style

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": units.Duration,
	"count":    units.Count,
	"bytes":    units.Bytes,
	"join":     strings.Join,
	"verdict":  verdictClass,
	"tiles":    tiles,
	"loads":    loads,
	"measured": func(p record.Phase) bool { return p.Kind == record.Measure },
	"seconds":  func(s float64) string { return units.Duration(time.Duration(s * 1e9)) },
	"ratio":    func(n int64, s float64) float64 { return float64(n) / max(s, 1e-9) },
}).Parse(pageText))

// page has the values of the template.
type page struct {
	Title       string
	Subtitle    string
	Single      bool // there is one result
	Results     []*record.Result
	Comparison  *compare.Comparison
	Bars        template.HTML
	Charts      []template.HTML
	Percentiles []float64
	Style       template.CSS
}

// Page writes one HTML page about results. The page needs no other file and no network. comparison may be nil.
func Page(w io.Writer, results []*record.Result, comparison *compare.Comparison) error {
	names := []string{}
	for _, r := range results {
		names = append(names, r.Name)
	}
	names = slices.Compact(names)
	p := page{Title: strings.Join(names, ", "), Results: results, Comparison: comparison, Percentiles: Percentiles,
		Style: Style}
	p.Subtitle, p.Single = subtitle(results), len(results) == 1
	if comparison != nil {
		p.Title += ", compared"
		p.Bars = changes(comparison)
	}
	for _, c := range []*chart.Chart{percentileChart(results), rateChart(results), timeChart(results)} {
		if drawn := c.Figure(); drawn != "" {
			p.Charts = append(p.Charts, drawn)
		}
	}
	return pageTemplate.Execute(w, p)
}

// subtitle returns where and when the results were measured, as far as that is the same for all.
func subtitle(results []*record.Result) string {
	if len(results) == 0 {
		return ""
	}
	first := results[0]
	text := []string{first.Started.Format("2 January 2006")}
	same := func(of func(*record.Result) string) {
		for _, r := range results {
			if of(r) != of(first) {
				return
			}
		}
		text = append(text, of(first))
	}
	same(func(r *record.Result) string { return "mode " + r.Mode })
	same(func(r *record.Result) string { return r.Target })
	same(func(r *record.Result) string { return fmt.Sprintf("%d connections", r.Connections) })
	same(func(r *record.Result) string { return r.Machine.CPU })
	same(func(r *record.Result) string { return "Linux " + r.Machine.Kernel })
	return strings.Join(text, " · ")
}

// tile is a figure that is shown large.
type tile struct{ Name, Figure string }

// tiles returns the figures of all measured phases of a result, or none if there are no such phases.
func tiles(r *record.Result) (all []tile) {
	phases := r.Measured()
	if len(phases) == 0 {
		return nil
	}
	var seconds float64
	var cpu, known time.Duration
	for _, p := range phases {
		seconds += p.Elapsed
		if p.Target != nil {
			cpu += p.Target.CPU
			known = 1
		}
	}
	w := sum(r)
	add := func(name, figure string) { all = append(all, tile{name, figure}) }
	add("messages/s", units.Count(float64(w.Messages)/max(seconds, 1e-9)))
	if w.Latency.Count() > 0 {
		for _, q := range []float64{50, 99, 99.9} {
			add(fmt.Sprintf("latency p%v", q), units.Duration(w.Latency.At(q)))
		}
		add("latency max", units.Duration(w.Latency.Max()))
	} else {
		add("bytes/s", units.Bytes(float64(w.BytesIn+w.BytesOut)/max(seconds, 1e-9)))
	}
	if known > 0 && w.Messages > 0 {
		add("target CPU/message", units.Duration(cpu/time.Duration(w.Messages)))
	}
	add("failures", units.Count(float64(w.Errors.Total())))
	return all
}

// loads returns the phases with load.
func loads(r *record.Result) (phases []record.Phase) {
	for _, p := range r.Phases {
		if p.Kind != record.SetUp {
			phases = append(phases, p)
		}
	}
	return phases
}

// sum returns the sum of all measured phases of a result.
func sum(r *record.Result) *record.Window {
	w := record.NewWindow()
	for _, p := range r.Measured() {
		w.Add(p.Total())
	}
	return w
}

func nanoseconds(v float64) string { return units.Duration(time.Duration(v)) }

// percentileChart returns a chart with an axis on which each additional nine of the percentile has the same width.
func percentileChart(results []*record.Result) *chart.Chart {
	c := &chart.Chart{Title: "Latency by percentile", Y: chart.Axis{Log: true, Name: nanoseconds},
		X: chart.Axis{Label: "percentile of the messages", Log: true, Low: 1, High: 1e5}}
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999} {
		c.X.Ticks = append(c.X.Ticks, chart.Tick{At: 1 / (1 - q/100), Text: fmt.Sprint(q)})
	}
	for i, r := range results {
		w := sum(r)
		add := func(h *record.Histogram, name string, dashed bool) {
			s := chart.Series{Name: r.Name + name, Color: i, Dashed: dashed}
			for e := 0.0; e <= 5.0001; e += 0.05 {
				if x := math.Pow(10, e); h.Count() > 0 && x <= float64(h.Count()) {
					s.Points = append(s.Points, chart.Point{X: x, Y: float64(h.At(100 * (1 - 1/x)))})
				}
			}
			if len(s.Points) > 0 {
				c.Series = append(c.Series, s)
			}
		}
		add(w.Latency, ", latency", false)
		if open(r) {
			add(w.Service, ", service time", true)
		}
	}
	return c
}

// open reports whether the result is of an open loop.
func open(r *record.Result) bool {
	for _, p := range r.Measured() {
		if p.Rate > 0 {
			return true
		}
	}
	return false
}

func rateChart(results []*record.Result) *chart.Chart {
	c := &chart.Chart{Title: "Messages a second over time", Narrow: true,
		X: chart.Axis{Label: "seconds since the start", Name: units.Count,
			Tight: true}, Y: chart.Axis{Name: units.Count}, Shades: shades(results)}
	for i, r := range results {
		s := chart.Series{Name: r.Name, Color: i, Area: len(results) == 1}
		failed := chart.Series{Name: r.Name + ", failures", Color: i + 3, Dashed: true}
		errors := int64(0)
		for _, p := range r.Series {
			if !p.Whole() {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: p.Seconds, Y: p.Rate()})
			failed.Points = append(failed.Points, chart.Point{X: p.Seconds, Y: float64(p.Errors.Total()) / p.Length})
			errors += p.Errors.Total()
		}
		if c.Series = append(c.Series, s); errors > 0 {
			c.Series = append(c.Series, failed)
		}
	}
	return c
}

// shades marks the phases of a single result that were not measured.
func shades(results []*record.Result) (all []chart.Shade) {
	if len(results) != 1 {
		return nil
	}
	for _, p := range results[0].Phases {
		if p.Kind != record.Measure {
			all = append(all, chart.Shade{Name: string(p.Kind), From: p.Start, To: p.Start + p.Elapsed})
		}
	}
	return all
}

// timeChart shows several percentiles of one result, or the p99 of several.
func timeChart(results []*record.Result) *chart.Chart {
	c := &chart.Chart{
		Title: "Latency over time", Narrow: true, Shades: shades(results), Y: chart.Axis{Log: true, Name: nanoseconds},
		X: chart.Axis{Label: "seconds since the start", Name: units.Count, Tight: true},
	}
	figures := []struct {
		name  string
		value func(*record.Point) int64
	}{
		{"p50", func(p *record.Point) int64 { return p.P50 }},
		{"p99", func(p *record.Point) int64 { return p.P99 }},
		{"max", func(p *record.Point) int64 { return p.Max }},
	}
	if len(results) > 1 {
		figures = figures[1:2]
	}
	for i, r := range results {
		for k, f := range figures {
			s := chart.Series{Name: r.Name + ", " + f.name, Color: i + k}
			for j := range r.Series {
				if p := &r.Series[j]; p.Messages > 0 && p.Whole() {
					s.Points = append(s.Points, chart.Point{X: p.Seconds, Y: float64(f.value(p))})
				}
			}
			c.Series = append(c.Series, s)
		}
	}
	return c
}
