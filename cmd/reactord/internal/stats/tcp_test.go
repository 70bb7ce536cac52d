package stats

import (
	"slices"
	"testing"
	"time"
)

func TestRTTCells(t *testing.T) {
	if n := RTTCells.Len(); n != rttCells {
		t.Errorf("there are %d cells, want %d", n, rttCells)
	}
}

// A connection without a round trip counts its retransmits only.
func TestTCPCounts(t *testing.T) {
	var c TCPCounts
	for _, rtt := range []time.Duration{0, 250 * time.Microsecond, 40 * time.Millisecond, 3 * time.Second} {
		c.Observe(rtt, 2)
	}
	h := c.RTT()
	if want := []uint64{1, 0, 1, 1}; !slices.Equal(h.Counts, want) || h.Sum != 3.04025 {
		t.Errorf("counts %v with the sum %v, want %v", h.Counts, h.Sum, want)
	}
	if len(h.Bounds) != 3 || h.Bounds[2] != 0.1 || c.Retransmits() != 8 {
		t.Errorf("bounds %v, %d retransmits", h.Bounds, c.Retransmits())
	}
}
