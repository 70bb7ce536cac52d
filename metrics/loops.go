package metrics

import (
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/histogram"
	"github.com/reactord/reactord/internal/series"
	"github.com/reactord/reactord/reactor"
)

var (
	backendInfo = series.NewDesc("io_backend_info",
		"Kind of ring that loops run on, and the reason if it is not io_uring.", "backend", "reason")
	ringInfo = series.NewDesc("io_ring_info",
		"Setup flags and feature bits of the rings, as numbered by the kernel; 0 for epoll.",
		"backend", "setup", "features")
	loopSeconds = series.NewDesc("reactor_loop_seconds_total",
		"Total time in which the loop could serve nothing else (busy), and the rest of its run time (wait), in seconds.",
		"reactor", "phase")
	cancels = series.NewDesc("reactor_cancels_total",
		"Total number of completed cancels: the operation was canceled (canceled), had completed (not_found), or could no "+
			"longer be stopped (already).", "reactor", "outcome")
	slowTurns = series.NewDesc("reactor_slow_turn_seconds",
		"Duration of turns that ran callbacks for a millisecond or longer, in seconds.",
		ofLoop...)
	lateness = series.NewDesc("reactor_timer_lateness_seconds",
		"Time from the deadline of a timer to its expiry, in seconds.", ofLoop...)
)

var ofLoop = []string{"reactor"}

var loopTable = series.Table[reactor.Stats]{
	series.Counter("reactor_entries_total",
		"Total number of entries submitted to the ring: operations and cancels.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Entries) }),
	series.Counter("reactor_completions_total", "Total number of completions taken from the ring.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Completions) }),
	series.Counter("reactor_enters_total", "Total number of times that the ring was entered.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Enters) }),
	series.Counter("reactor_overflows_total",
		"Total number of enters after the completion queue was full; 0 on epoll, whose queue grows.",
		ofLoop, func(s *reactor.Stats) float64 { return float64(s.Overflows) }),
	series.Counter("reactor_posts_total", "Total number of posts taken from other threads.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Posts) }),
	series.Counter("reactor_timers_total", "Total number of expired timers.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Timers) }),
	series.Counter("reactor_stale_total",
		"Total number of completions of operations that had already completed; more than 0 is a bug.",
		ofLoop, func(s *reactor.Stats) float64 { return float64(s.Stale) }),
	series.Counter("reactor_leaked_total",
		"Total number of operations that outlived the drain timeout of the loop; more than 0 is a bug.",
		ofLoop, func(s *reactor.Stats) float64 { return float64(s.Leaked) }),
	series.Gauge("reactor_operations_in_flight",
		"Current number of operations that were started and have not completed.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.InFlight) }),
	series.Gauge("reactor_longest_turn_seconds",
		"Longest time that the loop ran callbacks without checking for completions, in seconds.", ofLoop,
		func(s *reactor.Stats) float64 { return s.LongestTurn.Seconds() }),
	series.Gauge("reactor_descriptors", "Current number of file descriptors that the loop owns.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Descriptors) }),
	series.Counter("buffer_ring_exhausted_total", "Total number of receives that waited because the ring had no buffer.",
		ofLoop, func(s *reactor.Stats) float64 { return float64(s.BufferWaits) }),
	series.Gauge("buffers_ring_bytes", "Size of the receive buffers kept in the ring, in bytes.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.BufferBytes) }),
	series.Gauge("buffers_in_use_bytes", "Size of the receive buffers leased to receivers, in bytes.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.LeasedBytes) }),
}

// NewLoops returns a collector of the counters of the loops, for [Handler] or another registry. It keeps the slice,
// which must not change afterwards, and the loops, which may end before the collector is dropped.
func NewLoops(loops []*reactor.Loop) prometheus.Collector {
	sysctl, _ := os.ReadFile(disabledFile) // older kernels have none
	return newLoops(ringsOf(loops, string(sysctl)), len(loops), func(i int) reactor.Stats { return loops[i].Stats() })
}

// newLoops returns a collector of n loops that have these rings. read reads a loop.
func newLoops(rings []ring, n int, read func(i int) reactor.Stats) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		sendRings(s, rings)
		for i := range n {
			stats := read(i)
			sendLoop(s.Of("reactor", strconv.Itoa(i)), &stats)
		}
	}, backendInfo, ringInfo, loopSeconds, cancels, slowTurns, lateness, loopTable)
}

func sendLoop(of series.Owner, s *reactor.Stats) {
	loopTable.Send(of, s)
	of.Count(loopSeconds, s.Busy.Seconds(), "phase", "busy")
	of.Count(loopSeconds, s.Waiting.Seconds(), "phase", "wait")
	of.Count(cancels, float64(s.Canceled), "outcome", "canceled")
	of.Count(cancels, float64(s.CancelsNotFound), "outcome", "not_found")
	of.Count(cancels, float64(s.CancelsAlready), "outcome", "already")
	of.Histogram(slowTurns, histogram.SlowTurns, s.SlowTurns.Counts, s.SlowTurns.Sum)
	of.Histogram(lateness, histogram.Lateness, s.Lateness.Counts, s.Lateness.Sum)
}

// ring is a kind of ring: the fields distinguish them.
type ring struct {
	backend, reason string
	setup, features uint32
}

// ringsOf returns the ring of each loop, which never changes.
func ringsOf(loops []*reactor.Loop, sysctl string) []ring {
	rings := make([]ring, len(loops))
	for i, l := range loops {
		choice, caps := l.RingChoice(), l.Caps()
		rings[i] = ring{string(choice.Kind), reason(choice, sysctl), caps.Setup, caps.Features}
	}
	return rings
}

// sendRings sends each series once, however many loops have such a ring.
func sendRings(s *series.Scrape, all []ring) {
	type backend struct{ name, reason string }
	type bits struct {
		backend         string
		setup, features uint32
	}
	backends, rings := map[backend]bool{}, map[bits]bool{}
	for _, r := range all {
		if b := (backend{r.backend, r.reason}); !backends[b] {
			backends[b] = true
			s.Of("backend", b.name).Value(backendInfo, 1, "reason", b.reason)
		}
		if b := (bits{r.backend, r.setup, r.features}); !rings[b] {
			rings[b] = true
			s.Of("backend", b.backend).Value(ringInfo, 1,
				"setup", fmt.Sprintf("%#x", b.setup), "features", fmt.Sprintf("%#x", b.features))
		}
	}
}
