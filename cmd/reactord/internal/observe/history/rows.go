package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

const (
	maxTracked = 12 // rows of each kind with a history
	maxFailing = 50 // failures that are shown
	maxKinds   = 4096
	memory     = time.Hour // of failures
)

// kind is what a row is about.
type kind uint8

const (
	listenerRow kind = iota
	backendRow
	serverRow
	kinds
)

var kindNames = [kinds]string{"listener", "backend", "server"}

type rowKey struct {
	kind
	name, backend string
}

// row is a listener, a backend or a server.
type row struct {
	counted [3]uint64 // what was counted: new, ended and failed connections
	new     uint64    // since the last coarse point, as failed
	failed  uint64
	ended   window
	reading uint64  // the last one that had it
	score   float64 // how much it is worth a place among those with a history
	history *[2]ring
	before  *counters // of a listener: what else it has counted
}

// sums adds to sum what a listener has counted since the last reading.
func (w *row) sums(now, sum *counters) {
	if w.before == nil {
		w.before = &counters{}
	}
	for q, n := range now {
		if n >= w.before[q] {
			sum[q] += n - w.before[q]
		}
	}
	*w.before = *now
}

// row returns a row, and what it has counted since the last reading. A row that is new, or whose counters have begun
// again, has counted nothing.
func (r *Recorder) row(key rowKey, counted [3]uint64, first bool) (_ *row, added [3]uint64) {
	w := r.rows[key]
	if w == nil {
		w = &row{}
		r.rows[key] = w
		if first {
			w.counted = counted
		}
	}
	for i, n := range counted {
		if n >= w.counted[i] {
			added[i] = n - w.counted[i]
		}
	}
	w.counted, w.reading = counted, r.reading
	w.new += added[0]
	w.ended.add(added[1])
	w.failed += added[2]
	return w, added
}

// addRows adds a reading of all rows, and returns what all listeners have counted since the last one.
func (r *Recorder) addRows(all *stats.All, first bool) (sum counters) {
	for i := range all.Listeners {
		l := &all.Listeners[i]
		rejections := stats.Sum(l.Rejected)
		ended, bad := rejections, uint64(0)
		var counted counters
		for _, e := range l.Ended {
			ended += e.Count
			if stats.IsFailure(e.By, e.Phase) {
				bad += e.Count
			}
			switch e.Fault {
			case stats.ServerFault:
				counted[endedByServers] += float64(e.Count)
			case stats.ClientFault:
				counted[endedByClients] += float64(e.Count)
			case stats.ProxyFault:
				counted[endedByProxy] += float64(e.Count)
			}
		}
		w, added := r.row(rowKey{listenerRow, l.Name, ""}, [3]uint64{l.Accepted, ended, bad}, first)
		counted[rejected] = float64(rejections)
		counted[received], counted[sent] = float64(l.ReceivedBytes), float64(l.SentBytes)
		w.sums(&counted, &sum)
		sum[open] += float64(l.Connections)
		sum[accepted] += float64(added[0])
		sum[failed] += float64(added[2])
	}
	badOf := map[rowKey]uint64{} // connections that failed at a backend, or at a server after it was connected
	for i := range all.Failures {
		f := &all.Failures[i]
		badOf[rowKey{backendRow, f.Backend, ""}] += f.Count
		if f.Phase == "data" {
			badOf[rowKey{serverRow, f.Server, f.Backend}] += f.Count
		}
	}
	for i := range all.Backends {
		b := &all.Backends[i]
		key := rowKey{backendRow, b.Name, ""}
		r.row(key, [3]uint64{b.Total, 0, badOf[key]}, first)
	}
	for i := range all.Servers {
		s := &all.Servers[i]
		key := rowKey{serverRow, s.Name, s.Backend}
		r.row(key, [3]uint64{s.Total, 0, s.Failures + badOf[key]}, first)
	}
	return sum
}

// forget drops rows that have left the plan, and failures that are an hour old.
func (r *Recorder) forget(now time.Time) {
	for key, w := range r.rows {
		if w.reading != r.reading {
			delete(r.rows, key)
		}
	}
	for kind, f := range r.failures {
		if f.reading != r.reading && now.Sub(f.last) > memory {
			delete(r.failures, kind)
		} else if now.Sub(f.last) > memory {
			f.last = time.Time{}
		}
	}
}

// turnRows appends a coarse point to the rows with a history, and chooses them anew.
func (r *Recorder) turnRows() {
	var best [kinds][]*row
	for key, w := range r.rows {
		const failure = 1000 // is worth as much as so many connections
		w.score = 0.95*w.score + float64(w.new) + failure*float64(w.failed)
		if w.score >= 1 {
			best[key.kind] = append(best[key.kind], w)
		}
		if w.history != nil {
			w.history[0].push(float32(w.new) / coarseStep)
			w.history[1].push(float32(w.failed) / coarseStep)
		}
	}
	for _, rows := range best {
		slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(b.score, a.score) })
		for i, w := range rows {
			switch {
			case i >= maxTracked:
				w.history = nil
			case w.history == nil:
				w.history = &[2]ring{newRing(coarsePoints), newRing(coarsePoints)}
				w.history[0].push(float32(w.new) / coarseStep)
				w.history[1].push(float32(w.failed) / coarseStep)
			}
		}
	}
	for _, w := range r.rows {
		w.new, w.failed = 0, 0
		w.ended.turn()
		if w.score < 1 {
			w.history = nil
		}
	}
}

// readRows returns the rows with a history, the most noteworthy of each kind first.
func (r *Recorder) readRows() []stats.HistoryRow {
	var keys []rowKey
	for key, w := range r.rows {
		if w.history != nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(r.rows[b].score, r.rows[a].score),
			cmp.Compare(a.backend+a.name, b.backend+b.name))
	})
	out := make([]stats.HistoryRow, 0, len(keys))
	for _, key := range keys {
		h := r.rows[key].history
		out = append(out, stats.HistoryRow{
			Kind: kindNames[key.kind], Name: key.name, Backend: key.backend, New: h[0].read(), Failed: h[1].read(),
		})
	}
	return out
}

// failure is a kind of failures.
type failure struct {
	count   uint64
	recent  window
	last    time.Time // zero: none in the last hour
	reading uint64
}

// addFailures adds the failures of a reading. What was counted before the first one is not recent.
func (r *Recorder) addFailures(now time.Time, all []stats.Failure, first bool) {
	for _, f := range all {
		count := f.Count
		f.Count = 0
		known := r.failures[f]
		if known == nil {
			if len(r.failures) >= maxKinds {
				continue
			}
			known = &failure{}
			r.failures[f] = known
			if first {
				known.count = count
			}
		}
		known.reading = r.reading
		if count < known.count {
			known.count = 0 // the proxy has forgotten the kind meanwhile
		}
		if more := count - known.count; more != 0 {
			known.recent.add(more)
			known.last = now
		}
		known.count = count
	}
}
