package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/stats"
	"github.com/reactord/reactord/bench/units"
)

// ErrGrows is the error of a soak whose target grows.
var ErrGrows = errors.New("the target grows")

// figure is a quantity that is judged. It grows if all of these hold:
//
//   - The lower bound of its slope is positive.
//   - By its slope it gains more than is allowed during the judged time: more than gain, and more than the share
//     part of its median.
//   - Half of that gain is still there after the load.
//
// The allowed gain is for what varies during a run. It does not grow with the duration, so a longer soak finds a
// smaller slope.
type figure struct {
	name, unit string
	of         func(*record.Sample) float64
	gain       float64
	part       float64
}

const mib = 1 << 20

var figures = []figure{
	{"resident memory", "B", func(s *record.Sample) float64 { return float64(s.Memory) }, 4 * mib, 0.05},
	{"live heap", "B", func(s *record.Sample) float64 { return float64(s.LiveHeap) }, mib, 0.05},
	{"descriptors", "", func(s *record.Sample) float64 { return float64(s.Descriptors) }, 8, 0.05},
	{"threads", "", func(s *record.Sample) float64 { return float64(s.Threads) }, 4, 0.05},
	{"goroutines", "", func(s *record.Sample) float64 { return float64(s.Goroutines) }, 4, 0.05},
}

// leastJudged is the smallest number of samples that can be judged.
const leastJudged = 5

// judge judges the second half of the measured samples. In the first half a target may grow to its size.
func judge(res *record.Result) error {
	if silent(res) {
		return errors.New("nothing came back: is there an echo server behind the target? --upstream URL makes bench one")
	}
	var measured []record.Sample
	for _, sample := range res.Samples {
		if sample.Kind == record.Measure {
			measured = append(measured, sample)
		}
	}
	judged := measured[len(measured)/2:]
	if len(judged) < leastJudged {
		return fmt.Errorf("%d samples are too few to judge, want %d: use a longer -t", len(judged), leastJudged)
	}
	after := &res.Samples[len(res.Samples)-1]
	var grown []string
	for _, f := range figures {
		t, ok := f.trend(judged, after)
		if !ok {
			continue
		}
		res.Trends = append(res.Trends, t)
		if t.Grows {
			grown = append(grown, f.said(t, judged))
		}
	}
	if grown != nil {
		return fmt.Errorf("%w: %s", ErrGrows, strings.Join(grown, "; "))
	}
	return nil
}

// silent reports whether no byte was received while it was measured. Such a load says nothing about a target.
func silent(res *record.Result) bool {
	measured := false
	for i := range res.Phases {
		if p := &res.Phases[i]; p.Kind == record.Measure {
			measured = true
			if p.Total().BytesIn != 0 {
				return false
			}
		}
	}
	return measured
}

// trend returns the trend of a figure. It is not ok if the figure is unknown.
func (f *figure) trend(judged []record.Sample, after *record.Sample) (t record.Trend, ok bool) {
	x, y := make([]float64, len(judged)), make([]float64, len(judged))
	for i := range judged {
		x[i], y[i] = judged[i].Seconds, f.of(&judged[i])
		ok = ok || y[i] != 0
	}
	t = record.Trend{Figure: f.name, Unit: f.unit, Median: stats.Of(y).Median, After: f.of(after)}
	t.Slope, t.Low = stats.Trend(thin(x), thin(y))
	gain := max(f.gain, f.part*t.Median)
	t.Allowed = gain / (x[len(x)-1] - x[0])
	first := stats.Of(y[:len(y)/3]).Median
	t.Grows = t.Low > 0 && t.Slope > t.Allowed && t.After > first+gain/2
	return t, ok
}

// maxPoints is the largest number of points of a trend, because there is a slope for each pair of them.
const maxPoints = 600

// thin replaces runs of consecutive values by their medians, so that at most maxPoints are left.
func thin(values []float64) (thinned []float64) {
	for some := range slices.Chunk(values, (len(values)+maxPoints-1)/maxPoints) {
		thinned = append(thinned, stats.Of(some).Median)
	}
	return thinned
}

// said describes how the figure grows.
func (f *figure) said(t record.Trend, judged []record.Sample) string {
	first, last := &judged[0], &judged[len(judged)-1]
	text := fmt.Sprintf("%s, by %s a second in the last %.0f s, which exceeds %s", f.name, f.format(t.Slope),
		last.Seconds-first.Seconds, f.format(t.Allowed))
	if n := last.Connections - first.Connections; n > 0 {
		text += fmt.Sprintf("; that is %s for each of %s connections",
			f.format(t.Slope*(last.Seconds-first.Seconds)/float64(n)), units.Count(float64(n)))
	}
	return text
}

func (f *figure) format(v float64) string {
	if f.unit == "B" {
		return units.Bytes(v)
	}
	return units.Count(v)
}
