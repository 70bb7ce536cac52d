package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var sample = New(1, -14, 6, 100*time.Microsecond, time.Millisecond, time.Second, 90*time.Second)

// durations returns the durations around each bound, the extremes, and random ones of all sizes.
func durations(c *Cells) []time.Duration {
	ds := []time.Duration{math.MinInt64, -1, 0, 1, 2, math.MaxInt64}
	for _, b := range c.Bounds() {
		ds = append(ds, b-1, b, b+1)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		ds = append(ds, time.Duration(rng.Uint64()>>(1+rng.IntN(63))))
	}
	return ds
}

func TestFind(t *testing.T) {
	for _, d := range durations(sample) {
		want, _ := slices.BinarySearch(sample.Bounds(), d)
		if got := sample.Find(d); got != want {
			t.Errorf("%d ns is in cell %d, want %d", d, got, want)
		}
	}
}

// Each cell is within one native bucket: that of all durations in the cell, by the definition of Prometheus.
func TestNative(t *testing.T) {
	for _, d := range durations(sample) {
		index, ok := sample.Native(sample.Find(d))
		seconds := float64(d) / 1e9
		if zero := seconds <= sample.ZeroThreshold(); zero == ok {
			t.Errorf("%d ns: zero bucket %t, want %t", d, !ok, zero)
			continue
		}
		if !ok {
			continue
		}
		want := min(int(math.Ceil(math.Log2(seconds)*2)), 6*2+1)
		if index != want {
			t.Errorf("%d ns is in native bucket %d, want %d", d, index, want)
		}
	}
}

// Each classic bound is the bound of a cell.
func TestClassic(t *testing.T) {
	for _, b := range sample.Classic() {
		if !slices.Contains(sample.Bounds(), b) {
			t.Errorf("%v is no bound", b)
		}
	}
}

func TestTooManyCells(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("too many cells were accepted")
		}
	}()
	New(4, -14, 6)
}

func BenchmarkFind(b *testing.B) {
	ds := durations(sample)
	i := 0
	for b.Loop() {
		sample.Find(ds[i])
		if i++; i == len(ds) {
			i = 0
		}
	}
}
