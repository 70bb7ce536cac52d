package stats

import (
	"slices"
	"testing"
	"time"
)

func TestDurationCells(t *testing.T) {
	if n := Cells.Len(); n != durationCells {
		t.Errorf("there are %d cells, want %d", n, durationCells)
	}
}

// A duration that is a bound is in the bucket of the bound, in every form.
func TestDurations(t *testing.T) {
	var d Durations
	for _, ns := range []time.Duration{-1, 0, time.Millisecond, time.Millisecond + 1, time.Hour, 100 * time.Hour} {
		d.Observe(int64(ns))
	}
	h := d.Read()
	bounds, counts, sum := h.Bounds, h.Counts, h.Sum
	if want := []uint64{2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	if len(bounds) != 13 || bounds[0] != 0.0005 || bounds[12] != 3600 {
		t.Errorf("bounds %v", bounds)
	}
	if want := (101*time.Hour + 2*time.Millisecond).Seconds(); sum != want {
		t.Errorf("sum %v, want %v", sum, want)
	}
}

func TestNoDurations(t *testing.T) {
	var d Durations
	if h := d.Read(); len(h.Bounds) != 13 || len(h.Counts) != 14 || slices.Max(h.Counts) != 0 || h.Sum != 0 {
		t.Errorf("%+v", h)
	}
}

// With -cpu 1,2: alone, and with another loop that does the same.
func BenchmarkObserve(b *testing.B) {
	var d Durations
	b.RunParallel(func(pb *testing.PB) {
		for ns := int64(1); pb.Next(); ns = ns * 7 % 1e10 {
			d.Observe(ns)
		}
	})
}
