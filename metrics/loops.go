package metrics

import (
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/reactor"
)

var (
	backendInfo = describe("io_backend_info",
		"A kind of ring that loops run on, and the reason if it is not io_uring.", "backend", "reason")
	ringInfo = describe("io_ring_info",
		"The setup flags and the feature bits of the rings, as the kernel numbers them; 0 for epoll.", "backend", "setup", "features")
	loopSeconds = describe("reactor_loop_seconds_total",
		"CPU time of a loop's thread (busy), and the rest of the time since it began to run (wait), in seconds.", "reactor", "phase")
)

var ofLoop = []string{"reactor"}

var loopTable = table[reactor.Stats]{
	counter("reactor_completions_total", "Completions taken from the ring.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Completions) }),
	counter("reactor_enters_total", "Times that the ring was entered.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Enters) }),
	counter("reactor_cancels_total", "Cancel entries submitted.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Cancels) }),
	counter("reactor_posts_total", "Work taken from other threads.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Posts) }),
	counter("reactor_timers_total", "Timers expired.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Timers) }),
	counter("reactor_stale_total", "Completions of operations that were over; more than 0 is a bug.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Stale) }),
	counter("reactor_leaked_total", "Operations that had not completed when the loop's drain ran out of time; more than 0 is a bug.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.Leaked) }),
	gauge("reactor_operations_in_flight", "Operations started and not completed.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.InFlight) }),
	counter("buffer_ring_exhausted_total", "Receives that found no buffer in the ring and had to wait for one.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.BufferWaits) }),
	gauge("buffers_ring_bytes", "Size of the receive buffers kept in the ring, in bytes.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.BufferBytes) }),
	gauge("buffers_in_use_bytes", "Size of the receive buffers lent to receivers, in bytes.", ofLoop,
		func(s *reactor.Stats) float64 { return float64(s.LeasedBytes) }),
}

// NewLoops is a collector of what the loops count. It keeps the slice, which does not change from then
// on, and the loops, which may end before it.
func NewLoops(loops []*reactor.Loop) prometheus.Collector {
	sysctl, _ := os.ReadFile(disabledFile) // older kernels have none
	return loopCollector{rings: ringsOf(loops, string(sysctl)), read: func() []reactor.Stats {
		stats := make([]reactor.Stats, len(loops))
		for i, l := range loops {
			stats[i] = l.Stats()
		}
		return stats
	}}
}

// ring is what tells one kind of ring from another.
type ring struct {
	backend, reason string
	setup, features uint32
}

// ringsOf is the ring of each loop: fixed when the loop was made.
func ringsOf(loops []*reactor.Loop, sysctl string) []ring {
	rings := make([]ring, len(loops))
	for i, l := range loops {
		choice, caps := l.RingChoice(), l.Caps()
		rings[i] = ring{string(choice.Kind), reason(choice, sysctl), caps.Setup, caps.Features}
	}
	return rings
}

type loopCollector struct {
	rings []ring
	read  func() []reactor.Stats
}

// Describe is of prometheus.Collector.
func (c loopCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- backendInfo
	ch <- ringInfo
	ch <- loopSeconds
	loopTable.describe(ch)
}

// Collect is of prometheus.Collector.
func (c loopCollector) Collect(ch chan<- prometheus.Metric) {
	c.collectRings(ch)
	for i, s := range c.read() {
		number := strconv.Itoa(i)
		ch <- count(loopSeconds, s.Busy.Seconds(), number, "busy")
		ch <- count(loopSeconds, s.Waiting.Seconds(), number, "wait")
		loopTable.collect(ch, &s, number)
	}
}

// collectRings makes each series once, however many loops have such a ring.
func (c loopCollector) collectRings(ch chan<- prometheus.Metric) {
	type backend struct{ name, reason string }
	type bits struct {
		backend         string
		setup, features uint32
	}
	backends, rings := map[backend]bool{}, map[bits]bool{}
	for _, r := range c.rings {
		if b := (backend{r.backend, r.reason}); !backends[b] {
			backends[b] = true
			ch <- info(backendInfo, b.name, b.reason)
		}
		if b := (bits{r.backend, r.setup, r.features}); !rings[b] {
			rings[b] = true
			ch <- info(ringInfo, b.backend, fmt.Sprintf("%#x", b.setup), fmt.Sprintf("%#x", b.features))
		}
	}
}
