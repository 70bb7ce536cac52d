package proxymetrics

import "sync/atomic"

// Durations counts durations in fixed buckets. Any thread may observe and read. The zero value is empty.
type Durations struct {
	counts [len(durationBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // ns
}

// durationBounds are the buckets' upper bounds in ns: half a millisecond to an hour.
var durationBounds = [...]int64{5e5, 1e6, 5e6, 1e7, 5e7, 1e8, 5e8, 1e9, 5e9, 1e10, 6e10, 6e11, 3.6e12}

// Observe counts a duration in nanoseconds.
func (d *Durations) Observe(ns int64) {
	i := 0
	for i < len(durationBounds) && ns > durationBounds[i] {
		i++
	}
	d.counts[i].Add(1)
	d.sum.Add(ns)
}

// Read is what was observed, in seconds.
func (d *Durations) Read() Histogram {
	out := Histogram{Sum: float64(d.sum.Load()) / 1e9}
	for i := range d.counts {
		out.Counts = append(out.Counts, d.counts[i].Load())
	}
	for _, b := range durationBounds {
		out.Bounds = append(out.Bounds, float64(b)/1e9)
	}
	return out
}
