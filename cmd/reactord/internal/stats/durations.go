package stats

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

// Cells are the cells of [Durations]: half a millisecond to an hour in the classic form, and in the native form a
// quarter of a millisecond to 68 minutes, with four buckets for each power of two.
var Cells = histogram.New(2, -12, 12, 500*time.Microsecond, time.Millisecond, 5*time.Millisecond,
	10*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond, time.Second, 5*time.Second,
	10*time.Second, time.Minute, 10*time.Minute, time.Hour)

// durationCells is the number of [Cells].
const durationCells = 109

// Observe counts a duration in nanoseconds.
func (d *Durations) Observe(ns int64) {
	d.counts[Cells.Find(time.Duration(ns))].Add(1)
	d.sum.Add(ns)
}

// Read returns what was observed. Durations that are observed meanwhile are in it or not, each for itself.
func (d *Durations) Read() Histogram {
	h := readCells(Cells, d.counts[:], &d.sum)
	h.Bounds = classicSeconds
	return h
}

// readCells reads counts by cell, all but the bounds.
func readCells(cells *histogram.Cells, counts []atomic.Uint64, sum *atomic.Int64) Histogram {
	classic, bucket := cells.Classic(), 0
	h := Histogram{
		Counts: make([]uint64, len(classic)+1), Cells: make([]uint64, len(counts)), Total: time.Duration(sum.Load()),
	}
	h.Sum = h.Total.Seconds()
	for i := range counts {
		h.Cells[i] = counts[i].Load()
		h.Counts[bucket] += h.Cells[i]
		if bucket < len(classic) && cells.Bounds()[i] == classic[bucket] {
			bucket++
		}
	}
	return h
}

// classicSeconds are the bounds of the classic buckets in seconds.
var classicSeconds = inSeconds(Cells.Classic())

func inSeconds(bounds []time.Duration) (all []float64) {
	for _, b := range bounds {
		all = append(all, b.Seconds())
	}
	return all
}

// Histogram is a distribution of durations. The zero value is empty.
type Histogram struct {
	Bounds []float64 `json:"bounds" doc:"Upper bounds of the buckets, in seconds."`
	Counts []uint64  `json:"counts" doc:"Count of each bucket; the last one is for values above all bounds."`
	Sum    float64   `json:"sum" doc:"Sum of all durations, in seconds."`

	// The same in full: counts by cell of [Cells], or of [RTTCells].
	Cells []uint64      `json:"-"`
	Total time.Duration `json:"-"`
}

// Add adds what another reading has observed. The zero Histogram takes its bounds.
func (h *Histogram) Add(other Histogram) {
	if h.Cells == nil {
		*h = other
		return
	}
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	for i, n := range other.Cells {
		h.Cells[i] += n
	}
	h.Total += other.Total
	h.Sum = h.Total.Seconds()
}
