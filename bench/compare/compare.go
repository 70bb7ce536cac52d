package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/stats"
	"github.com/reactord/reactord/bench/trial"
	"github.com/reactord/reactord/bench/units"
)

// Enough is the number of samples that each side needs for a verdict.
const Enough = 5

// Metrics are the metrics that are compared by default.
var Metrics = []string{"rate", "p50", "p90", "p99", "p99.9", "max", "errors", "cpu"}

// Comparison compares several groups of results with the first.
type Comparison struct {
	Base string
	Rows []Row
}

// Row compares one metric of one group with the base's.
type Row struct {
	Metric, Name    string
	Base, Value     stats.Summary
	Change          float64 // of the medians, relative to the base's
	Low, High       float64 // its 95 per cent interval
	Enough, Differs bool
	better          bool
}

// Several reports whether more than one group is compared with the base. Then rows must name the group.
func (c *Comparison) Several() bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Name != c.Rows[0].Name })
}

// Group has results that are samples of the same thing.
type Group struct {
	Name    string
	Results []*record.Result
}

// Of compares groups with the first one. Metrics that no group has are left out.
func Of(groups []Group, metrics []string) (*Comparison, error) {
	if len(groups) < 2 {
		return nil, fmt.Errorf("a comparison needs at least two results")
	}
	c := &Comparison{Base: groups[0].Name}
	for _, metric := range metrics {
		base, err := samples(groups[0], metric)
		if err != nil {
			return nil, err
		}
		for _, g := range groups[1:] {
			other, err := samples(g, metric)
			if err != nil {
				return nil, err
			}
			if len(base) == 0 || len(other) == 0 {
				return nil, fmt.Errorf("%s or %s has no measured phase", c.Base, g.Name)
			}
			if stats.Of(base).Max == 0 && stats.Of(other).Max == 0 && metric != "errors" {
				continue
			}
			c.Rows = append(c.Rows, row(metric, g.Name, base, other))
		}
	}
	return c, nil
}

// samples returns the values of a metric, one for each measured phase.
func samples(g Group, metric string) (values []float64, err error) {
	for _, r := range g.Results {
		for _, p := range r.Measured() {
			v, err := trial.Metric(p, metric)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
	return values, nil
}

func row(metric, name string, base, other []float64) Row {
	r := Row{Metric: metric, Name: name, Base: stats.Of(base), Value: stats.Of(other)}
	r.Change, r.Low, r.High = change(base, other)
	r.Enough = len(base) >= Enough && len(other) >= Enough
	r.Differs = r.Enough && (r.Low > 0 || r.High < 0)
	r.better = r.Change < 0
	if metric == "rate" || metric == "bytes" {
		r.better = r.Change > 0
	}
	return r
}

// Verdict returns the conclusion. See the package comment.
func (r Row) Verdict() string {
	switch {
	case !r.Enough:
		return fmt.Sprintf("too few samples (%d and %d, not %d)", r.Base.N, r.Value.N, Enough)
	case !r.Differs:
		return "no difference"
	case r.better:
		return "better"
	}
	return "worse"
}

// Better reports whether the median improved. Differs says whether that is significant.
func (r Row) Better() bool { return r.better }

// BaseText returns the median of the base as tables show it.
func (r Row) BaseText() string { return figure(r.Metric, r.Base.Median) }

// Text returns the median as tables show it.
func (r Row) Text() string { return figure(r.Metric, r.Value.Median) }

// ChangeText returns the change in per cent.
func (r Row) ChangeText() string { return percent(r.Change) }

// IntervalText returns the interval of the change.
func (r Row) IntervalText() string {
	if !r.Enough {
		return "–"
	}
	return percent(r.Low) + " to " + percent(r.High)
}

func percent(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "from 0"
	}
	return units.Percent(v)
}

func figure(metric string, v float64) string {
	switch metric {
	case "errors", "lost":
		return units.Count(v)
	case "rate":
		return units.Count(v) + "/s"
	case "bytes":
		return units.Bytes(v) + "/s"
	}
	return units.Duration(time.Duration(v))
}

// Markdown returns the table.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| metric | %s | against | median | change | 95 %% interval | verdict |\n"+
		"|---|---:|---|---:|---:|---:|---|\n", c.Base)
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Metric, r.BaseText(), r.Name, r.Text(), r.ChangeText(),
			r.IntervalText(), r.Verdict())
	}
	return b.String()
}

// Bound is a limit of a change, such as p99>+10% or rate<-5%.
type Bound struct {
	Metric string
	above  bool
	limit  float64
	text   string
}

// ParseBound parses a bound.
func ParseBound(text string) (Bound, error) {
	at := strings.IndexAny(text, "<>")
	wrong := fmt.Errorf("%q is not a bound: examples are p99>+10%% and rate<-5%%", text)
	if at <= 0 {
		return Bound{}, wrong
	}
	b := Bound{Metric: text[:at], above: text[at] == '>', text: text}
	value, ok := strings.CutSuffix(text[at+1:], "%")
	limit, err := strconv.ParseFloat(value, 64)
	if !ok || err != nil || b.above != (limit >= 0) {
		return Bound{}, wrong
	}
	b.limit = limit / 100
	empty := record.Phase{Parts: []record.PhasePart{{Window: record.NewWindow()}}}
	_, err = trial.Metric(&empty, b.Metric)
	return b, err
}

func (b Bound) String() string { return b.text }

// Broken reports whether a row exceeds the bound. It needs enough samples and a significant change: noise does not
// break a bound.
func (b Bound) Broken(r Row) bool {
	if r.Metric != b.Metric || !r.Differs {
		return false
	}
	if b.above {
		return r.Change > b.limit
	}
	return r.Change < b.limit
}
