package history

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Reading is what a [Recorder] is given.
type Reading struct {
	Proxy stats.All // with servers and failures
	Loops []LoopTime
}

// LoopTime is how long a loop was busy, and waited, since its start.
type LoopTime struct{ Busy, Waiting time.Duration }

// Recorder remembers readings. Its methods may be called from any goroutine; Add by one at a time.
type Recorder struct {
	mu       sync.Mutex
	now      time.Time // of the last reading
	fine     [quantities]ring
	coarse   [quantities]ring
	means    [quantities]mean
	seconds  int // since the last coarse point
	loops    []LoopTime
	connects []stats.Histogram // the last ones, of connect times
	rows     map[rowKey]*row
	failures map[stats.Failure]*failure // by kind: the count of a key is 0
	reading  uint64                     // number of the reading
}

// New returns a recorder that remembers nothing yet.
func New() *Recorder {
	r := &Recorder{rows: map[rowKey]*row{}, failures: map[stats.Failure]*failure{}}
	for q := range r.fine {
		r.fine[q], r.coarse[q] = newRing(finePoints), newRing(coarsePoints)
	}
	return r
}

// quantity is what is remembered of the whole process.
type quantity int

const (
	open quantity = iota
	accepted
	rejected
	received
	sent
	connectAverage
	connect99
	endedByServers
	endedByClients
	endedByProxy
	busyAverage
	busyMost
	failed
	quantities
)

var names = [quantities]string{
	"open", "accepted", "rejected", "received", "sent", "connect_average", "connect_99", "ended_by_servers",
	"ended_by_clients", "ended_by_proxy", "busy_average", "busy_most", "failed",
}

// counters are what listeners count, by the quantity that it becomes.
type counters [quantities]float64

// Add records a reading at a time. A time before that of the last reading is ignored.
func (r *Recorder) Add(now time.Time, reading *Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed := now.Sub(r.now).Seconds()
	first := r.now.IsZero()
	if !first && elapsed <= 0 {
		return
	}
	r.now = now
	r.reading++
	added := r.addRows(&reading.Proxy, first)
	r.addFailures(now, reading.Proxy.Failures, first)
	r.forget(now)
	points := r.points(reading, added, elapsed)
	if first {
		return
	}
	// A reading that is late stands for the seconds since the one before it.
	for range min(max(int(math.Round(elapsed)), 1), finePoints) {
		r.push(&points)
	}
}

// points returns the points of a reading.
func (r *Recorder) points(reading *Reading, added counters, elapsed float64) (p [quantities]float64) {
	for q := range p {
		p[q] = added[q] / elapsed
	}
	p[open] = added[open]
	p[connectAverage], p[connect99] = r.connectTimes(reading.Proxy.Totals)
	p[busyAverage], p[busyMost] = r.busy(reading.Loops)
	return p
}

// push appends a point of a second.
func (r *Recorder) push(points *[quantities]float64) {
	for q, p := range points {
		r.fine[q].push(float32(p))
		r.means[q].add(p)
	}
	if r.seconds++; r.seconds < coarseStep {
		return
	}
	r.seconds = 0
	for q := range r.coarse {
		r.coarse[q].push(r.means[q].take(quantity(q) == busyMost || quantity(q) == connect99))
	}
	r.turnRows()
	for _, f := range r.failures {
		f.recent.turn()
	}
}

// smooth is the number of readings over which connect times are taken: a second may have few connects.
const smooth = 10

// connectTimes returns the average time to connect, and that within which 99 % have connected.
func (r *Recorder) connectTimes(t *stats.Totals) (average, most float64) {
	if t == nil {
		return unknown, unknown
	}
	r.connects = append(r.connects, t.ConnectTime)
	if len(r.connects) > smooth {
		r.connects = slices.Delete(r.connects, 0, 1)
	}
	old, now := &r.connects[0], &t.ConnectTime
	counts, all := make([]uint64, len(now.Counts)), uint64(0)
	for i, n := range now.Counts {
		counts[i] = n - old.Counts[i]
		all += counts[i]
	}
	if all == 0 {
		return unknown, unknown
	}
	return max(now.Sum-old.Sum, 0) / float64(all), quantile(now.Bounds, counts, 0.99*float64(all))
}

// quantile returns about the value that n of the counted ones are below: it is interpolated in its bucket.
func quantile(bounds []float64, counts []uint64, n float64) float64 {
	low := 0.0
	for i, bound := range bounds {
		if c := float64(counts[i]); n <= c && c > 0 {
			return low + (bound-low)*n/c
		}
		n -= float64(counts[i])
		low = bound
	}
	return low
}

// busy returns the average and the greatest share of time in which loops were busy.
func (r *Recorder) busy(loops []LoopTime) (average, most float64) {
	before := r.loops
	r.loops = slices.Clone(loops)
	if len(before) != len(loops) || len(loops) == 0 {
		return unknown, unknown
	}
	for i, l := range loops {
		busy := (l.Busy - before[i].Busy).Seconds()
		all := busy + (l.Waiting - before[i].Waiting).Seconds()
		share := 0.0
		if all > 0 {
			share = min(max(busy/all, 0), 1)
		}
		average += share / float64(len(loops))
		most = max(most, share)
	}
	return average, most
}

// Read returns what is remembered.
func (r *Recorder) Read() stats.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := stats.History{Ended: r.now.UTC(), Ranges: []stats.HistoryRange{{Step: 1}, {Step: coarseStep}}, Rows: r.readRows()}
	for q, name := range names {
		for i, ring := range []*ring{&r.fine[q], &r.coarse[q]} {
			h.Ranges[i].Series = append(h.Ranges[i].Series, stats.HistorySeries{Name: name, Points: ring.read()})
		}
	}
	return h
}

// Failing returns the failures of the last hour, at most [maxFailing]: first those of the last minute that servers or
// the proxy are to blame for, then the others of the last minute.
func (r *Recorder) Failing() []stats.Failing {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]stats.Failing, 0, len(r.failures))
	for kind, f := range r.failures {
		if f.last.IsZero() {
			continue
		}
		next := stats.Failing{Failure: kind, Recent: f.recent.sum(), Last: f.last.UTC()}
		next.Count = f.count
		if l := r.rows[rowKey{listenerRow, kind.Listener, ""}]; l != nil {
			if ended := l.ended.sum(); ended != 0 {
				next.Share = min(float64(next.Recent)/float64(ended), 1)
			}
		}
		all = append(all, next)
	}
	slices.SortFunc(all, func(a, b stats.Failing) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Recent, a.Recent), b.Last.Compare(a.Last),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Listener+a.Server+a.Reason+a.TLSCause, b.Listener+b.Server+b.Reason+b.TLSCause))
	})
	return all[:min(len(all), maxFailing)]
}

// rank is the less, the more urgent a failure is.
func rank(f *stats.Failing) int {
	switch {
	case f.Recent == 0:
		return 2
	case f.Fault == stats.ClientFault || f.Fault == stats.PolicyFault:
		return 1
	}
	return 0
}
