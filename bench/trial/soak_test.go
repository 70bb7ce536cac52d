package trial

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/reactord/reactord/bench/record"
)

// soaked returns a result with a sample for each second and one after the load. Every figure is steady, with some
// noise.
func soaked(seconds int, change func(second int, s *record.Sample)) *record.Result {
	r := rand.New(rand.NewPCG(1, 2))
	res := &record.Result{}
	for i := range seconds + 1 {
		s := record.Sample{Seconds: float64(i), Kind: record.Measure, Connections: int64(1000 * i), Memory: 30*mib +
			r.Int64N(mib), Descriptors: 200 + r.IntN(20), Threads: 11, LiveHeap: 2*mib + r.Int64N(mib/2), Goroutines: 14 + i%2}
		if i == seconds {
			s.Kind = record.After
		}
		change(i, &s)
		res.Samples = append(res.Samples, s)
	}
	return res
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds int
		change  func(second int, s *record.Sample)
		grows   string // the figures
	}{
		{"steady", 30, func(int, *record.Sample) {}, ""},
		{"steady for a day", 24 * 60 * 60, func(int, *record.Sample) {}, ""},
		{"memory", 30, func(i int, s *record.Sample) { s.Memory += int64(i) * mib }, "resident memory"},
		{"heap", 30, func(i int, s *record.Sample) { s.LiveHeap += int64(i) * mib / 4 }, "live heap"},
		{"heap, in steps", 30, func(i int, s *record.Sample) { s.LiveHeap += int64(i/4) * mib }, "live heap"},
		{"descriptors", 30, func(i int, s *record.Sample) { s.Descriptors += 2 * i }, "descriptors"},
		{"threads", 30, func(i int, s *record.Sample) { s.Threads += i / 2 }, "threads"},
		{"goroutines", 30, func(i int, s *record.Sample) { s.Goroutines += i }, "goroutines"},
		{"two together", 30, func(i int, s *record.Sample) { s.Memory += int64(i) * mib; s.Descriptors += 2 * i },
			"resident memory, descriptors"},
		{"little by little, for an hour", 3600, func(i int, s *record.Sample) { s.Memory += int64(i) * 4000 },
			"resident memory"},
		{"in the first half only", 30, func(i int, s *record.Sample) { s.Memory += int64(min(i, 15)) * mib }, ""},
		{"and shrinks", 30, func(i int, s *record.Sample) { s.Memory -= int64(i) * mib / 2 }, ""},
		{"until the load ends", 30, func(i int, s *record.Sample) {
			if s.Kind != record.After {
				s.Descriptors += 20 * i
			}
		}, ""},
		{"for a moment", 30, func(i int, s *record.Sample) {
			if i == 25 {
				s.Descriptors += 1000
			}
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := soaked(test.seconds, test.change)
			err := judge(res)
			var grown []string
			for _, trend := range res.Trends {
				if trend.Grows {
					grown = append(grown, trend.Figure)
					if !strings.Contains(err.Error(), trend.Figure+", by ") {
						t.Errorf("%v does not name %s", err, trend.Figure)
					}
				}
			}
			if got := strings.Join(grown, ", "); got != test.grows || len(res.Trends) != len(figures) ||
				errors.Is(err, ErrGrows) != (got != "") {
				t.Errorf("%q grow, want %q: %v, %+v", got, test.grows, err, res.Trends)
			}
		})
	}
}

// Only measured samples are judged, and only figures that are known.
func TestJudgeLeavesOut(t *testing.T) {
	res := soaked(30, func(i int, s *record.Sample) {
		if s.LiveHeap, s.Goroutines = 0, 0; i < 15 {
			s.Kind = record.WarmUp
		}
	})
	if err := judge(res); err != nil || len(res.Trends) != 3 {
		t.Errorf("%v, %+v", err, res.Trends)
	}
	if err := judge(&record.Result{Samples: res.Samples[:22]}); err == nil ||
		!strings.Contains(err.Error(), "4 samples are too few") {
		t.Errorf("too few samples: %v", err)
	}
}

func TestReadMetrics(t *testing.T) {
	var s record.Sample
	text := "# HELP go_goroutines Number of goroutines.\ngo_goroutines 14\n" +
		"go_gc_heap_live_bytes 1.5e+06\ngo_gc_heap_live_bytes_total 3\n"
	if err := readMetrics(strings.NewReader(text), &s); err != nil || s.Goroutines != 14 || s.LiveHeap != 1_500_000 {
		t.Errorf("%v, %+v", err, s)
	}
	for _, bad := range []string{"go_goroutines many\n", "", "go_goroutines_total 3\n"} {
		if err := readMetrics(strings.NewReader(bad), &s); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestMetricsURL(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://127.0.0.1:9090":         "http://127.0.0.1:9090/metrics",
		"tcp://[::1]:9090/m":           "http://[::1]:9090/m",
		"http://host:9090":             "http://host:9090/metrics",
		"http://host/other?a=b":        "http://host/other?a=b",
		"https://host:9090/metrics":    "https://host:9090/metrics",
		"":                             "",
		"127.0.0.1:9090":               "",
		"host:9090":                    "",
		"tcp://host":                   "",
		"tcp://:9090":                  "",
		"udp://host:9090":              "",
		"unix:///run/metrics.sock":     "",
		"http://host:not-a-port/paths": "",
	} {
		if got, err := MetricsURL(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// A load without replies says nothing about the target.
func TestJudgeOfSilence(t *testing.T) {
	res := soaked(30, func(int, *record.Sample) {})
	res.Phases = []record.Phase{{Kind: record.Measure, Parts: []record.PhasePart{{Window: record.NewWindow()}}}}
	if err := judge(res); err == nil || errors.Is(err, ErrGrows) || !strings.Contains(err.Error(), "nothing came back") {
		t.Errorf("judged %v", err)
	}
	res.Phases[0].Parts[0].BytesIn = 1
	if err := judge(res); err != nil {
		t.Errorf("judged %v", err)
	}
}
