package upstream

import (
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
)

// counters is what the loops count of a server: a few additions a connection.
type counters struct {
	_           [64]byte
	connections atomic.Uint64 // connects that succeeded
	retries     atomic.Uint64
	failures    [len(reasons)]atomic.Uint64
	inARow      atomic.Int32 // failures since the last success
	_           [64]byte
	transitions atomic.Uint64 // of the state
	ejections   atomic.Uint64
}

// histogram counts durations in fixed buckets.
type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64
	sum    atomic.Int64 // ns
}

// bounds are the buckets' upper bounds in ns: half a millisecond to an hour.
var bounds = [...]int64{5e5, 1e6, 5e6, 1e7, 5e7, 1e8, 5e8, 1e9, 5e9, 1e10, 6e10, 6e11, 3.6e12}

func (h *histogram) observe(ns int64) {
	i := 0
	for i < len(bounds) && ns > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(ns)
}

func (h *histogram) read() proxymetrics.Histogram {
	out := proxymetrics.Histogram{Sum: float64(h.sum.Load()) / 1e9}
	for i := range h.counts {
		out.Counts = append(out.Counts, h.counts[i].Load())
	}
	for _, b := range bounds {
		out.Bounds = append(out.Bounds, float64(b)/1e9)
	}
	return out
}
