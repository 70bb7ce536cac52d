//go:build linux

package reactor

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/histogram"
)

// Durations is a distribution of durations.
type Durations struct {
	// Bounds are upper bounds, which increase. They are shared: do not change them.
	Bounds []time.Duration
	// Counts[i] is how many durations were up to Bounds[i] and above the bound before it. The last element, behind
	// those of the bounds, is how many were above all of them. nil if there were no durations.
	Counts []uint64
	Sum    time.Duration // of all of them
}

// Count returns the number of durations.
func (d Durations) Count() (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// String returns the number of durations and their sum.
func (d Durations) String() string { return fmt.Sprintf("%d (%v)", d.Count(), d.Sum) }

// distribution is Durations that a loop counts on its thread, and stores for other threads once a turn.
type distribution struct {
	cells   *histogram.Cells
	counts  [maxCells]uint64
	sum     time.Duration
	changed uint64 // a bit for each cell that has changed since the last publish
	shared  [maxCells]atomic.Uint64
	total   atomic.Int64 // the sum
}

// maxCells is the most cells that a distribution can have: a bit of changed for each.
const maxCells = 64

// add counts a duration.
func (d *distribution) add(ns int64) {
	i := d.cells.Find(time.Duration(ns))
	d.counts[i]++
	d.sum += time.Duration(ns)
	d.changed |= 1 << i
}

// publish stores what has changed.
func (d *distribution) publish() {
	for ; d.changed != 0; d.changed &= d.changed - 1 {
		i := bits.TrailingZeros64(d.changed)
		d.shared[i].Store(d.counts[i])
	}
	d.total.Store(int64(d.sum))
}

// read returns what was published last. From any thread.
func (d *distribution) read() Durations {
	out := Durations{
		Bounds: d.cells.Bounds(), Counts: make([]uint64, d.cells.Len()), Sum: time.Duration(d.total.Load()),
	}
	for i := range out.Counts {
		out.Counts[i] = d.shared[i].Load()
	}
	return out
}
