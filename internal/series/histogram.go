package series

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/internal/histogram"
)

// Histogram returns the metric of durations that were counted in cells: counts has one for each cell, or is nil if
// nothing was counted. It is a classic histogram, and a native one for servers that scrape these. It keeps nothing of
// counts.
func Histogram(desc *prometheus.Desc, cells *histogram.Cells, counts []uint64, sum time.Duration,
	labels ...string,
) prometheus.Metric {
	return newHistogram(desc, cells, counts, sum, prometheus.MakeLabelPairs(desc, labels))
}

// Histogram sends a [Histogram] with the labels of o.
func (o Owner) Histogram(desc *prometheus.Desc, cells *histogram.Cells, counts []uint64, sum time.Duration) {
	o.scrape.ch <- newHistogram(desc, cells, counts, sum, o.pairs)
}

func newHistogram(desc *prometheus.Desc, cells *histogram.Cells, counts []uint64, sum time.Duration,
	pairs []*dto.LabelPair,
) prometheus.Metric {
	if counts == nil {
		counts = make([]uint64, cells.Len())
	}
	seconds, schema, threshold := sum.Seconds(), int32(cells.Schema()), cells.ZeroThreshold()
	h := &dto.Histogram{SampleSum: &seconds, Schema: &schema, ZeroThreshold: &threshold}
	addClassic(h, cells, counts)
	addNative(h, cells, counts)
	return histogramMetric{desc, pairs, h}
}

// addClassic adds the buckets of a classic histogram, each of which also counts what the ones before it do, and the
// number of all durations.
func addClassic(h *dto.Histogram, cells *histogram.Cells, counts []uint64) {
	classic, bounds := cells.Classic(), cells.Bounds()
	h.Bucket = make([]*dto.Bucket, 0, len(classic))
	values := make([]classicBucket, len(classic)) // of one allocation
	var n uint64
	for i, count := range counts {
		n += count
		if k := len(h.Bucket); k < len(classic) && i < len(bounds) && bounds[i] == classic[k] {
			v := &values[k]
			v.upTo, v.bound = n, classic[k].Seconds()
			v.CumulativeCount, v.UpperBound = &v.upTo, &v.bound
			h.Bucket = append(h.Bucket, &v.Bucket)
		}
	}
	h.SampleCount = &n
}

// classicBucket is a bucket with what it points to.
type classicBucket struct {
	dto.Bucket
	upTo  uint64
	bound float64
}

// addNative adds the buckets of a native histogram that have something: each as its difference from the one before it,
// and runs of them as spans.
func addNative(h *dto.Histogram, cells *histogram.Cells, counts []uint64) {
	var zero uint64
	var last, next int // the last bucket's count, and the index after it
	for i := 0; i < len(counts); {
		index, ok := cells.Native(i)
		n := 0
		for ; i < len(counts); i++ {
			if at, _ := cells.Native(i); at != index {
				break
			}
			n += int(counts[i])
		}
		switch {
		case !ok:
			zero = uint64(n)
			continue
		case n == 0:
			continue
		case len(h.PositiveSpan) == 0 || index != next:
			offset, length := int32(index-next), uint32(0)
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		*h.PositiveSpan[len(h.PositiveSpan)-1].Length++
		h.PositiveDelta = append(h.PositiveDelta, int64(n-last))
		last, next = n, index+1
	}
	h.ZeroCount = &zero
}

type histogramMetric struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	h      *dto.Histogram
}

// Desc implements [prometheus.Metric].
func (m histogramMetric) Desc() *prometheus.Desc { return m.desc }

// Write implements [prometheus.Metric].
func (m histogramMetric) Write(out *dto.Metric) error {
	out.Label, out.Histogram = m.labels, m.h
	return nil
}
