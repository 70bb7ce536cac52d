package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/compare"
	"github.com/reactord/reactord/bench/record"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": Duration,
	"count":    Count,
	"bytes":    Bytes,
	"percent":  Percent,
	"join":     strings.Join,
	"seconds":  func(s float64) string { return Duration(time.Duration(s * 1e9)) },
	"ratio":    func(n int64, s float64) float64 { return float64(n) / max(s, 1e-9) },
}).Parse(pageText))

// page is what the template shows.
type page struct {
	Title       string
	Results     []*record.Result
	Comparison  *compare.Comparison
	Charts      []template.HTML
	Percentiles []float64
}

// Page writes one HTML page about results: it needs no other file and no network. comparison may be
// nil.
func Page(w io.Writer, results []*record.Result, comparison *compare.Comparison) error {
	names := []string{}
	for _, r := range results {
		names = append(names, r.Name)
	}
	p := page{Title: strings.Join(names, ", "), Results: results, Comparison: comparison, Percentiles: Percentiles}
	for _, c := range []*chart{percentileChart(results), rateChart(results), timeChart(results)} {
		if svg := c.svg(); svg != "" {
			p.Charts = append(p.Charts, svg)
		}
	}
	return pageTemplate.Execute(w, p)
}

// sum is what all measured phases of a result found together.
func sum(r *record.Result) *record.Window {
	w := record.NewWindow()
	for _, p := range r.Measured() {
		w.Add(p.Total())
	}
	return w
}

func nanoseconds(v float64) string { return Duration(time.Duration(v)) }

// percentileChart has an axis on which each further nine of the percentile takes as much room.
func percentileChart(results []*record.Result) *chart {
	c := &chart{title: "Latency by percentile", y: axis{log: true, name: nanoseconds},
		x: axis{label: "percentile", log: true, low: 1, high: 1e5}}
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999} {
		c.x.ticks = append(c.x.ticks, tick{1 / (1 - q/100), fmt.Sprintf("%v %%", q)})
	}
	for i, r := range results {
		w := sum(r)
		add := func(h *record.Histogram, name string, dashed bool) {
			s := series{name: r.Name + name, color: i, dashed: dashed}
			for e := 0.0; e <= 5.0001; e += 0.05 {
				if x := math.Pow(10, e); h.Count() > 0 && x <= float64(h.Count()) {
					s.points = append(s.points, point{x, float64(h.At(100 * (1 - 1/x)))})
				}
			}
			if len(s.points) > 0 {
				c.series = append(c.series, s)
			}
		}
		add(w.Latency, ", latency", false)
		if open(r) {
			add(w.Service, ", service time", true)
		}
	}
	return c
}

// open: the result is of an open loop.
func open(r *record.Result) bool {
	for _, p := range r.Measured() {
		if p.Rate > 0 {
			return true
		}
	}
	return false
}

// shortest is how many seconds a point of a series stands for at least; less is what is left at the end of a
// phase.
const shortest = 0.2

func rateChart(results []*record.Result) *chart {
	c := &chart{title: "Messages a second over time", x: axis{label: "seconds since the start", name: Count}, y: axis{name: Count}}
	for i, r := range results {
		s := series{name: r.Name, color: i}
		failed := series{name: r.Name + ", failures", color: i + 3, dashed: true}
		errors := int64(0)
		for _, p := range r.Series {
			if p.Length < shortest {
				continue
			}
			s.points = append(s.points, point{p.Seconds, p.Rate()})
			failed.points = append(failed.points, point{p.Seconds, float64(p.Errors.Total()) / p.Length})
			errors += p.Errors.Total()
		}
		if c.series = append(c.series, s); errors > 0 {
			c.series = append(c.series, failed)
		}
	}
	return c
}

// timeChart shows several percentiles of one result, or the p99 of several.
func timeChart(results []*record.Result) *chart {
	c := &chart{title: "Latency over time", x: axis{label: "seconds since the start", name: Count}, y: axis{log: true, name: nanoseconds}}
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
			s := series{name: r.Name + ", " + f.name, color: i + k}
			for j := range r.Series {
				if p := &r.Series[j]; p.Messages > 0 && p.Length >= shortest {
					s.points = append(s.points, point{p.Seconds, float64(f.value(p))})
				}
			}
			c.series = append(c.series, s)
		}
	}
	return c
}
