package proxymetrics

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/histogram"
)

// Durations counts durations. Any thread may observe and read. The zero value is empty.
type Durations struct {
	counts [durationCells]atomic.Uint64
	sum    atomic.Int64 // ns
}

// durations are the cells: half a millisecond to an hour in the classic form, and in the native form a quarter of a
// millisecond to 68 minutes, with four buckets for each power of two.
var durations = histogram.New(2, -12, 12, 500*time.Microsecond, time.Millisecond, 5*time.Millisecond,
	10*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond, time.Second, 5*time.Second,
	10*time.Second, time.Minute, 10*time.Minute, time.Hour)

// durationCells is how many cells durations has.
const durationCells = 109

// Observe counts a duration in nanoseconds.
func (d *Durations) Observe(ns int64) {
	d.counts[durations.Find(time.Duration(ns))].Add(1)
	d.sum.Add(ns)
}

// Read is what was observed. Durations that are observed meanwhile are in it or not, each for itself.
func (d *Durations) Read() Histogram {
	out := Histogram{Counts: make([]uint64, len(d.counts)), Sum: time.Duration(d.sum.Load())}
	for i := range d.counts {
		out.Counts[i] = d.counts[i].Load()
	}
	return out
}

// Histogram is a distribution of durations. The zero value is empty.
type Histogram struct {
	Counts []uint64 // by cell of durations; nil: none was observed
	Sum    time.Duration
}

// Classic is the distribution in few buckets, in seconds: counts[i] counts what is up to bounds[i] and above the bound
// before it. The last element of counts counts what is above all bounds.
func (h *Histogram) Classic() (bounds []float64, counts []uint64, sum float64) {
	classic := durations.Classic()
	counts = make([]uint64, len(classic)+1)
	for _, b := range classic {
		bounds = append(bounds, b.Seconds())
	}
	bucket := 0
	for i, n := range h.Counts {
		counts[bucket] += n
		if bucket < len(classic) && durations.Bounds()[i] == classic[bucket] {
			bucket++
		}
	}
	return bounds, counts, h.Sum.Seconds()
}
