package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
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
// memory in bytes that the process may have; 0: no limit. A lower limit of its cgroups counts instead. GOGC overrides
// it, see package runtime.
func PaceCollector(limit int64) { paceCollector(limit, 1) }

// PostponeCollector lets the heap grow to four times what [PaceCollector] lets it, for d: a run of the collector takes
// CPU time from what is urgent meanwhile. Then, unless the pace was set again, it is as PaceCollector sets it.
func PostponeCollector(limit int64, d time.Duration) {
	if call := paceCollector(limit, 4); call != 0 {
		time.AfterFunc(d, func() {
			if call == calls.Load() {
				PaceCollector(limit)
			}
		})
	}
}

// paceCollector sets the pace with so many times the floor. It returns the number of the call, or 0 if GOGC is set.
func paceCollector(limit int64, times uint64) (call int64) {
	if os.Getenv("GOGC") != "" {
		return 0
	}
	if most := (Meter{}).Limit(); most > 0 && (limit == 0 || most < limit) {
		limit = most
	}
	floor := uint64(heapFloor)
	if limit > 0 {
		floor = min(floor, uint64(limit)/8)
	}
	call = calls.Add(1)
	pacer{call: call, floor: floor * times}.pace()
	return call
}

var calls atomic.Int64 // of paceCollector

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
	if percent := growth(p.floor, readHeap()); percent != p.percent { // setting it stops all threads
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(cycle), pacer.pace, p)
}

// heap holds what the last run of the collector has found, in bytes; all 0: it has not run.
type heap struct{ live, roots uint64 }

// growth returns the percentage after which a heap may grow to the floor: the runtime lets it grow by that part of what
// is live and of the roots.
func growth(floor uint64, h heap) int {
	percent := floor * 100 / runtimeFloor
	if h.live+h.roots > 0 {
		percent = min(percent, (max(floor, h.live)-h.live)*100/(h.live+h.roots))
	}
	return max(int(percent), leastGrowth)
}

func readHeap() heap {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(s)
	return heap{live: s[0].Value.Uint64(), roots: s[1].Value.Uint64() + s[2].Value.Uint64()}
}
