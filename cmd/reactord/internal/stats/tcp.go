package stats

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/internal/histogram"
)

// TCPCounts counts what the kernel has told of TCP connections at their end. Any thread may observe and read. The zero
// value is empty.
type TCPCounts struct {
	rtt         [rttCells]atomic.Uint64
	sum         atomic.Int64 // ns
	retransmits atomic.Uint64
}

// RTTCells are the cells of round-trip times. There is a histogram of each server, so they are few: in the classic form
// they tell a site, a region and a continent apart, and in the native form they are 61 µs to 4 s with two buckets for
// each power of two.
var RTTCells = histogram.New(1, -14, 2, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)

// rttCells is the number of [RTTCells].
const rttCells = 37

var rttSeconds = inSeconds(RTTCells.Classic())

// Observe counts a connection with its smoothed round-trip time, which is 0 if none was measured, and with the segments
// that were sent again.
func (c *TCPCounts) Observe(rtt time.Duration, retransmits uint32) {
	if rtt > 0 {
		c.rtt[RTTCells.Find(rtt)].Add(1)
		c.sum.Add(int64(rtt))
	}
	if retransmits > 0 {
		c.retransmits.Add(uint64(retransmits))
	}
}

// RTT returns the round-trip times that were observed.
func (c *TCPCounts) RTT() Histogram {
	h := readCells(RTTCells, c.rtt[:], &c.sum)
	h.Bounds = rttSeconds
	return h
}

// Retransmits returns how many segments were sent again.
func (c *TCPCounts) Retransmits() uint64 { return c.retransmits.Load() }
