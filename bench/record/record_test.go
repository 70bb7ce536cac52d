package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// values returns durations as in a run: most are short, and some are very long.
func values(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(math.Exp(r.NormFloat64()*1.5 + 11))
	}
	v[0] = int64(3 * time.Second)
	return v
}

// A histogram agrees with an exact sort to three significant digits.
func TestHistogramAgreesWithASort(t *testing.T) {
	v := values(200_000)
	h := NewHistogram()
	sum := 0.0
	for _, x := range v {
		h.Record(x)
		sum += float64(x)
	}
	slices.Sort(v)
	near := func(name string, got time.Duration, want int64) {
		t.Helper()
		if math.Abs(float64(got)-float64(want)) > 0.001*float64(want) {
			t.Errorf("%s is %d, and %d by sorting", name, got, want)
		}
	}
	for _, q := range []float64{0.1, 1, 25, 50, 75, 90, 99, 99.9, 99.99} {
		at := int(math.Ceil(q/100*float64(len(v)) - 1e-6))
		near(fmt.Sprint("p", q), h.At(q), v[at-1])
	}
	near("the maximum", h.Max(), v[len(v)-1])
	near("the minimum", h.Min(), v[0])
	near("the mean", h.Mean(), int64(sum/float64(len(v))))
	if h.Count() != int64(len(v)) {
		t.Errorf("%d values were recorded, and %d counted", len(v), h.Count())
	}
}

// Histograms and counts of parts add up to those of the whole.
func TestWindowsAddUp(t *testing.T) {
	whole, sum := NewWindow(), NewWindow()
	n := 1000
	if testing.Short() {
		n = 200
	}
	for i, x := range values(n) {
		part := NewWindow()
		for _, w := range []*Window{part, whole} {
			w.Latency.Record(x)
			w.Service.Record(x / 2)
			w.Messages++
			w.BytesIn += x
			w.Errors[i%int(failures)]++
		}
		if i%100 == 0 {
			part.Reset()
			part.Latency.Record(x)
			part.Service.Record(x / 2)
			part.Messages, part.BytesIn, part.Errors[i%int(failures)] = 1, x, 1
		}
		sum.Add(part)
	}
	a, _ := json.Marshal(sum)
	b, _ := json.Marshal(whole)
	if !bytes.Equal(a, b) {
		t.Errorf("the sum is\n%s\nand the whole\n%s", a, b)
	}
}

func TestHistogramBounds(t *testing.T) {
	h := NewHistogram()
	if h.At(99) != 0 || h.Max() != 0 || h.Min() != 0 || h.Mean() != 0 {
		t.Error("an empty histogram is not empty")
	}
	h.Record(-5)
	h.Record(int64(100 * time.Hour))
	if h.Min() != 0 || h.Max() < MaxValue || h.Count() != 2 {
		t.Errorf("%v to %v, %d values", h.Min(), h.Max(), h.Count())
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	h := NewHistogram()
	if n := testing.AllocsPerRun(100, func() { h.Record(12345) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// sample returns a result that has all fields.
func sample() *Result {
	w := NewWindow()
	for _, x := range values(1000) {
		w.Latency.Record(x)
	}
	w.Messages, w.Errors[Reset], w.Errors[Timeout] = 1000, 3, 1
	point := NewPoint(w)
	point.Seconds, point.Length, point.Kind = 1, 1, Measure
	return &Result{Schema: Schema, Name: "x", Phases: []Phase{
		{Kind: WarmUp, Elapsed: 1, Parts: []PhasePart{{"x", NewWindow()}}},
		{Kind: Measure, Elapsed: 2, Parts: []PhasePart{{"x", w}}}}, Series: []Point{point}}
}

// A document that is written and read again is the same, with histograms and failures.
func TestResultGoesThroughAFile(t *testing.T) {
	name := t.TempDir() + "/r.json"
	r := sample()
	if err := r.WriteFile(name); err != nil {
		t.Fatal(err)
	}
	back, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Measured()) != 1 || back.Measured()[0].Throughput() != 500 {
		t.Errorf("%+v", back)
	}
	a, b := r.Measured()[0].Total(), back.Measured()[0].Total()
	if a.Counts != b.Counts || a.Latency.At(99) != b.Latency.At(99) || a.Latency.Count() != b.Latency.Count() ||
		b.Errors.String() != "3 reset, 1 timeout" {
		t.Errorf("%+v and %+v", a.Counts, b.Counts)
	}
	for _, bad := range []string{"", "{}", `{"schema": "reactord-bench/9"}`,
		`{"schema": "reactord-bench/1", "phases": [{"parts": [{"name": "x"}]}]}`} {
		if err := os.WriteFile(name, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(name); err == nil {
			t.Errorf("%q was taken for a result", bad)
		}
	}
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	if err := sample().WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][2] != "messages_per_s" || rows[1][2] != "1000.0" || rows[1][7] != "4" {
		t.Errorf("%v, %v", rows, err)
	}
}

// HdrHistogram's own reader can read the histogram log.
func TestHistogramLog(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	l, err := NewLog(&out, start)
	if err != nil {
		t.Fatal(err)
	}
	w := sample().Measured()[0].Total()
	if err := l.Write(time.Second, 2*time.Second, w); err != nil {
		t.Fatal(err)
	}
	in := hdrhistogram.NewHistogramLogReader(&out)
	h, err := in.NextIntervalHistogram()
	if err != nil || h == nil || h.TotalCount() != 1000 || h.ValueAtPercentile(99) != int64(w.Latency.At(99)) {
		t.Fatalf("%+v, %v", h, err)
	}
	if service, err := in.NextIntervalHistogram(); err != nil || service.Tag() != "service" {
		t.Errorf("%+v, %v", service, err)
	}
}

func TestFailures(t *testing.T) {
	for errno, want := range map[syscall.Errno]Failure{
		syscall.ECONNREFUSED: Refused, syscall.ECONNRESET: Reset, syscall.EPIPE: Reset, syscall.ETIMEDOUT: Timeout,
		syscall.EADDRNOTAVAIL: Ports, syscall.EMFILE: Descriptors, syscall.ENOBUFS: Memory,
		syscall.EHOSTUNREACH: Unreachable, syscall.EIO: Other,
	} {
		if got := FailureOf(os.NewSyscallError("connect", errno)); got != want {
			t.Errorf("%v is %v, want %v", errno, got, want)
		}
	}
	if FailureOf(errors.New("x")) != Other {
		t.Error("an error of no kind has one")
	}
	var f Failures
	if err := json.Unmarshal([]byte(`{"reset": 2, "of the future": 3}`), &f); err != nil || f[Reset] != 2 ||
		f[Other] != 3 || f.Total() != 5 || f.Most() != Other {
		t.Errorf("%v, %v", f, err)
	}
	for i := range failures {
		if name := i.String(); name == "" || strings.ContainsAny(name, " ,") {
			t.Errorf("failure %d is called %q", i, name)
		}
	}
}

// The buckets are those of HdrHistogram.
func TestBucketsAreThoseOfHdrHistogram(t *testing.T) {
	theirs, ours := hdrhistogram.New(1, int64(MaxValue), 3), NewHistogram()
	all := append(values(100_000), 0, int64(MaxValue)-1, int64(MaxValue))
	for power := range 41 {
		all = append(all, 1<<power-1, 1<<power, 1<<power+1)
	}
	for _, v := range all {
		ours.Record(v)
		if err := theirs.RecordValue(v); err != nil {
			t.Fatal(v, err)
		}
	}
	if a, b := ours.whole().Export(), theirs.Export(); !slices.Equal(a.Counts, b.Counts) {
		t.Error("the buckets differ")
	}
	ours.Reset()
	ours.Record(-1)
	ours.Record(2 * int64(MaxValue))
	if ours.Count() != 2 || ours.Min() != 0 || ours.Max() < MaxValue {
		t.Errorf("what is out of range is %d durations from %v to %v", ours.Count(), ours.Min(), ours.Max())
	}
}

func BenchmarkRecord(b *testing.B) {
	h, v := NewHistogram(), values(1<<12)
	b.ReportAllocs()
	for i := range b.N {
		h.Record(v[i&(1<<12-1)])
	}
}
