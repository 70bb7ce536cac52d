package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The garbage collector runs when the heap has grown by leastGrowth percent of what is live, and not below heapFloor
// bytes, or an eighth of the memory that the process may have. The daemon makes hardly any garbage, so the memory of
// an idle connection counts for more than the time of the collector; but a TLS handshake makes 56 KB, and without the
// floor a small heap was collected every 50 handshakes.
const (
	leastGrowth = 50
	heapFloor   = 32 << 20
)

// The runtime's own floor is 4 MiB at a growth of 100 percent, and grows with it.
const runtimeFloor = 4 << 20

// PaceCollector sets when the garbage collector runs, now and after each of its runs, until the next call. limit is the
// memory in bytes that the process may have; 0: no limit. GOGC overrides it, see package runtime.
func PaceCollector(limit int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	floor := uint64(heapFloor)
	if limit > 0 {
		floor = min(floor, uint64(limit)/8)
	}
	pacer{call: calls.Add(1), floor: floor}.pace()
}

var calls atomic.Int64 // of PaceCollector

type pacer struct {
	call    int64  // it ends with the next one
	floor   uint64 // bytes
	percent int    // that are set; 0: none
}

// cycle is garbage from the beginning, so that the end of the collector's next run is noticed.
type cycle struct{ _ *cycle }

func (p pacer) pace() {
	if p.call != calls.Load() {
		return
	}
	if percent := growth(p.floor, liveHeap()); percent != p.percent { // setting it stops all threads
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(cycle), pacer.pace, p)
}

// growth returns by how many percent a heap with so many live bytes may grow.
func growth(floor, live uint64) int {
	live = max(live, runtimeFloor)
	return max(int(floor*100/live)-100, leastGrowth)
}

// liveHeap returns the bytes that the collector's last run has found live; 0: it has not run.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
