package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/stats"
	"github.com/reactord/reactord/bench/units"
)

// Soak takes a sample of what the target holds every second, and judges by the second half of what was measured
// whether that grows: the first is the target's to grow to its size.
type Soak struct {
	Metrics string // URL of the target's Prometheus metrics, for what it knows itself. Default: none

	lose        context.CancelCauseFunc // ends the run, the target being out of sight
	connections int64
}

// ErrGrows is what a soak ends with whose target grows.
var ErrGrows = errors.New("the target grows")

// figure is one of those that are judged. It grows if its slope, were it as small as the samples allow, is
// positive; if by its slope it gains more than is allowed over the time that is judged, which is a number, or a
// part of its median if that is more; and if half of that is still there when the load is over. What is allowed is
// for what comes and goes meanwhile, not for each second, so a longer soak finds less.
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

// leastJudged is how many samples a judgement takes.
const leastJudged = 5

// begin makes sure that the target can be seen.
func (s *Soak) begin(ctx context.Context, res *record.Result) error {
	if len(res.Processes) == 0 {
		return errors.New("a soak looks at the target's processes, and they are not to be seen: say which by --pid")
	}
	_, err := s.sample(ctx, res.Processes)
	return err
}

// observe takes the sample that belongs to a point of the series.
func (s *Soak) observe(res *record.Result, p record.Point) {
	s.connections += p.Opened
	sample, err := s.sample(context.Background(), res.Processes)
	if err != nil {
		s.lose(err)
		return
	}
	sample.Seconds, sample.Kind, sample.Connections = p.Seconds, p.Kind, s.connections
	res.Samples = append(res.Samples, sample)
}

// settling is how long after the load the last sample is taken.
const settling = time.Second

// settle takes the last sample.
func (s *Soak) settle(ctx context.Context, res *record.Result, start time.Time) error {
	select {
	case <-time.After(settling):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sample, err := s.sample(ctx, res.Processes)
	sample.Seconds, sample.Kind, sample.Connections = time.Since(start).Seconds(), record.After, s.connections
	res.Samples = append(res.Samples, sample)
	return err
}

func (s *Soak) sample(ctx context.Context, pids []int) (out record.Sample, err error) {
	if out.Memory, err = proc.RSS(pids...); err != nil {
		return out, fmt.Errorf("the target's memory: %w", err)
	}
	if out.Descriptors, err = proc.Descriptors(pids...); err != nil {
		return out, fmt.Errorf("the target's descriptors: %w", err)
	}
	if out.Threads, err = proc.Threads(pids...); err != nil {
		return out, fmt.Errorf("the target's threads: %w", err)
	}
	if s.Metrics != "" {
		if err = s.scrape(ctx, &out); err != nil {
			return out, fmt.Errorf("the target's metrics: %w", err)
		}
	}
	return out, nil
}

// scrapeTimeout bounds how long the target may take to tell its metrics.
const scrapeTimeout = 5 * time.Second

// scrape reads what Prometheus' collector of Go's runtime exports.
func (s *Soak) scrape(ctx context.Context, out *record.Sample) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Metrics, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", s.Metrics, answer.Status)
	}
	return readMetrics(answer.Body, out)
}

func readMetrics(text io.Reader, out *record.Sample) error {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name != "go_gc_heap_live_bytes" && name != "go_goroutines" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == "go_goroutines" {
			out.Goroutines = int(n)
		} else {
			out.LiveHeap = int64(n)
		}
	}
	return lines.Err()
}

// judge looks at the second half of the samples that were measured.
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
		return fmt.Errorf("%d samples are too few to judge by, want %d: -t is too short", len(judged), leastJudged)
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

// silent reports whether no byte came back in what was measured: such a load says nothing of a target.
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

// trend is how a figure went; not ok: it is not known.
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

// maxPoints is how many points a trend is made of at most: there is a slope for each pair of them.
const maxPoints = 600

// thin makes medians of as many values in a row as leave no more than maxPoints.
func thin(values []float64) (thinned []float64) {
	for some := range slices.Chunk(values, (len(values)+maxPoints-1)/maxPoints) {
		thinned = append(thinned, stats.Of(some).Median)
	}
	return thinned
}

// said names the figure and how it grows.
func (f *figure) said(t record.Trend, judged []record.Sample) string {
	first, last := &judged[0], &judged[len(judged)-1]
	text := fmt.Sprintf("%s, by %s a second in the last %.0f s, where %s are allowed", f.name, f.format(t.Slope),
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
