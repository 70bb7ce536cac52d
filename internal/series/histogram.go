package series

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/internal/histogram"
)

// Histogram sends a histogram of durations that were counted in cells: counts has one for each cell, or is nil if
// nothing was counted. It is a classic histogram, and a native one for servers that scrape these. It keeps nothing of
// counts.
func (o Owner) Histogram(desc *Desc, cells *histogram.Cells, counts []uint64, sum time.Duration) {
	if counts == nil {
		counts = nothing[:cells.Len()]
	}
	if t := o.scrape.text; t != nil {
		t.histogram(&o.text, desc, cells, counts, sum.Seconds())
		return
	}
	m := o.scrape.distributions.next()
	m.Label, m.Histogram = o.labels, &m.histogram
	h := m.Histogram
	m.sum, m.schema, m.zeroThreshold = sum.Seconds(), int32(cells.Schema()), cells.ZeroThreshold()
	h.SampleSum, h.Schema, h.ZeroThreshold = &m.sum, &m.schema, &m.zeroThreshold
	o.scrape.addClassic(m, cells, counts)
	o.scrape.addNative(m, cells, counts)
	o.scrape.add(desc, dto.MetricType_HISTOGRAM, &m.Metric)
}

var nothing [256]uint64 // of any cells

// distribution holds a metric of durations, and what it points to.
type distribution struct {
	dto.Metric
	histogram          dto.Histogram
	n, zero            uint64
	sum, zeroThreshold float64
	schema             int32
}

// addClassic adds the buckets of a classic histogram, each of which also counts what the ones before it do, and the
// number of all durations.
func (s *Scrape) addClassic(m *distribution, cells *histogram.Cells, counts []uint64) {
	h, classic, bounds := m.Histogram, cells.Classic(), cells.Bounds()
	m.n, h.Bucket = 0, h.Bucket[:0]
	for i, count := range counts {
		m.n += count
		if k := len(h.Bucket); k < len(classic) && i < len(bounds) && bounds[i] == classic[k] {
			b := s.buckets.next()
			b.upTo, b.bound = m.n, classic[k].Seconds()
			b.CumulativeCount, b.UpperBound = &b.upTo, &b.bound
			h.Bucket = append(h.Bucket, &b.Bucket)
		}
	}
	h.SampleCount = &m.n
}

// bucket holds a bucket of a classic histogram, and what it points to.
type bucket struct {
	dto.Bucket
	upTo  uint64
	bound float64
}

// addNative adds the buckets of a native histogram that have something: each as its difference from the one before it,
// and runs of them as spans.
func (s *Scrape) addNative(m *distribution, cells *histogram.Cells, counts []uint64) {
	h := m.Histogram
	m.zero, h.PositiveSpan, h.PositiveDelta = 0, h.PositiveSpan[:0], h.PositiveDelta[:0]
	var run *span
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
			m.zero = uint64(n)
			continue
		case n == 0:
			continue
		case run == nil || index != next:
			run = s.spans.next()
			run.offset, run.length = int32(index-next), 0
			run.Offset, run.Length = &run.offset, &run.length
			h.PositiveSpan = append(h.PositiveSpan, &run.BucketSpan)
		}
		run.length++
		h.PositiveDelta = append(h.PositiveDelta, int64(n-last))
		last, next = n, index+1
	}
	h.ZeroCount = &m.zero
}

// span holds a run of buckets of a native histogram, and what it points to.
type span struct {
	dto.BucketSpan
	offset int32
	length uint32
}
