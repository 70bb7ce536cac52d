package histogram

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// maxCells is how many cells there can be.
const maxCells = math.MaxUint8

// Cells divide all durations. Cell i has those up to bound i and above the bound before it; the last cell has those
// above all bounds.
type Cells struct {
	schema  int
	lowest  int // the exponent of the native histogram's zero threshold
	bounds  []time.Duration
	classic []time.Duration
	native  []int     // of each cell: the index of its native bucket, from 1 on; 0: the zero bucket
	first   [65]uint8 // by the number of bits of a duration: the first cell that can have it
}

// New makes cells for a native histogram of the schema, which divides each power of two into 2^schema buckets, and for
// a classic one. The native one covers 2^from to 2^to seconds: what is shorter is in its zero bucket, what is longer in
// one bucket behind the last. The classic bounds increase. New panics if there were more than 255 cells.
func New(schema, from, to int, classic ...time.Duration) *Cells {
	c := &Cells{schema: schema, lowest: from, classic: classic}
	parts := 1 << schema
	for i := from * parts; i <= to*parts; i++ {
		// A duration is a whole number of nanoseconds: it is below a bound exactly if it is below the bound's floor.
		c.bounds = append(c.bounds, time.Duration(math.Exp2(float64(i)/float64(parts))*1e9))
	}
	natives := slices.Clone(c.bounds)
	c.bounds = slices.Concat(c.bounds, classic)
	slices.Sort(c.bounds)
	c.bounds = slices.Compact(c.bounds)
	if c.Len() > maxCells {
		panic(fmt.Sprintf("histogram: %d cells, which is more than %d", c.Len(), maxCells))
	}
	for _, b := range c.bounds {
		i, _ := slices.BinarySearch(natives, b)
		c.native = append(c.native, i)
	}
	c.native = append(c.native, len(natives))
	for n := range c.first {
		least := int64(0)
		if n != 0 {
			least = 1 << min(n-1, 62)
		}
		i, _ := slices.BinarySearch(c.bounds, time.Duration(least))
		c.first[n] = uint8(i)
	}
	return c
}

// Len returns the number of cells.
func (c *Cells) Len() int { return len(c.bounds) + 1 }

// Bounds returns the upper bounds of all cells but the last. The caller must not change them.
func (c *Cells) Bounds() []time.Duration { return c.bounds }

// Find returns the cell of a duration.
func (c *Cells) Find(d time.Duration) int {
	i := int(c.first[bits.Len64(uint64(max(d, 0)))])
	for i < len(c.bounds) && d > c.bounds[i] {
		i++
	}
	return i
}

// Classic returns the bounds of the classic histogram. The caller must not change them.
func (c *Cells) Classic() []time.Duration { return c.classic }

// Schema returns the schema of the native histogram.
func (c *Cells) Schema() int { return c.schema }

// ZeroThreshold returns the largest duration in the zero bucket of the native histogram, in seconds.
func (c *Cells) ZeroThreshold() float64 { return math.Exp2(float64(c.lowest)) }

// Native returns the bucket of a cell in the native histogram. ok is false for the zero bucket.
func (c *Cells) Native(cell int) (index int, ok bool) {
	n := c.native[cell]
	return c.lowest<<c.schema + n, n != 0
}
