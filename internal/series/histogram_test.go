package series

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/internal/histogram"
	"github.com/reactord/reactord/internal/series/seriestest"
)

var durations = NewDesc("durations_seconds", "Durations.", "of")

var cells = histogram.New(2, -14, 6, 100*time.Microsecond, time.Millisecond, time.Second)

// Durations are counted exactly as a histogram of client_golang counts them that has the same bounds.
func TestHistogram(t *testing.T) {
	reference := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                         "reactord_durations_seconds",
		Buckets:                      []float64{1e-4, 1e-3, 1},
		NativeHistogramBucketFactor:  1.2, // schema 2
		NativeHistogramZeroThreshold: cells.ZeroThreshold(),
	}, []string{"of"}).WithLabelValues("a")
	counts, sum := make([]uint64, cells.Len()), time.Duration(0)
	for _, d := range []time.Duration{
		0, 1, 60_000, 99_999, 100_000, 100_001, 999_999, 1_000_000, 1_000_001, 5_000_000, 5_000_001, 999_999_999,
		1_000_000_000, 1_000_000_001, 3_000_000_000, 64_000_000_000, 64_000_000_001,
	} {
		reference.Observe(d.Seconds())
		counts[cells.Find(d)]++
		sum += d
	}
	s := newScrape()
	s.Of("of", "a").Histogram(durations, cells, counts, sum)
	got := s.all()[0].Metric[0]
	var want dto.Metric
	if err := reference.(prometheus.Metric).Write(&want); err != nil {
		t.Fatal(err)
	}
	want.Histogram.CreatedTimestamp = nil
	expand(got.Histogram)
	expand(want.Histogram)
	if sum := want.Histogram.SampleSum; math.Abs(*sum-*got.Histogram.SampleSum) < 1e-9 {
		*sum = *got.Histogram.SampleSum
	}
	if got.String() != want.String() {
		t.Errorf("got:\n%s\nwant what a histogram of client_golang has:\n%s", got, &want)
	}
}

// expand puts the buckets of a native histogram in one span, whatever the gaps are.
func expand(h *dto.Histogram) {
	counts, index, count, k := map[int32]int64{}, int32(0), int64(0), 0
	for _, s := range h.PositiveSpan {
		index += s.GetOffset()
		for range s.GetLength() {
			count += h.PositiveDelta[k]
			counts[index] = count
			index++
			k++
		}
	}
	h.PositiveSpan, h.PositiveDelta = nil, nil
	for i := int32(-14 * 4); i <= 7*4; i++ {
		h.PositiveDelta = append(h.PositiveDelta, counts[i])
	}
}

// A histogram of nothing has all its buckets.
func TestEmptyHistogram(t *testing.T) {
	seriestest.Expect(t, NewCollector(func(s *Scrape) {
		s.Of("of", "a").Histogram(durations, cells, nil, 0)
	}, durations), `
reactord_durations_seconds_bucket{of="a",le="0.0001"} 0
reactord_durations_seconds_bucket{of="a",le="0.001"} 0
reactord_durations_seconds_bucket{of="a",le="1"} 0
reactord_durations_seconds_bucket{of="a",le="+Inf"} 0
reactord_durations_seconds_sum{of="a"} 0
reactord_durations_seconds_count{of="a"} 0
`)
}
