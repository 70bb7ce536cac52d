package balance

import "sync/atomic"

// Load is a count of connections with a limit, shared by all loops: for a server or a backend. The zero Load has no
// limit. Its methods may be called from any thread. It must not be copied.
type Load struct {
	_     [64]byte // no other counter shares its cache lines
	n     atomic.Int64
	limit atomic.Int64 // 0: none
	_     [48]byte
}

// Take counts a connection if the limit allows one more. It is exact: it refuses only if the count was at the limit.
func (l *Load) Take() bool {
	limit := l.limit.Load()
	if limit == 0 {
		l.n.Add(1)
		return true
	}
	for {
		// Not Add and then a look at the sum: others would see a place as occupied that Take is about to give back.
		n := l.n.Load()
		if n >= limit {
			return false
		}
		if l.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Force counts a connection regardless of the limit.
func (l *Load) Force() { l.n.Add(1) }

// Give ends a connection counted by Take or Force. The caller wakes those who wait for the place.
func (l *Load) Give() {
	if l.n.Add(-1) < 0 {
		panic("balance: Load.Give without Take")
	}
}

// N returns the number of connections.
func (l *Load) N() int { return int(l.n.Load()) }

// Full reports whether Take would refuse.
func (l *Load) Full() bool {
	limit := l.limit.Load()
	return limit > 0 && l.n.Load() >= limit
}

// Limit returns the limit, or 0 for none.
func (l *Load) Limit() int { return int(l.limit.Load()) }

// SetLimit sets the limit; 0 removes it. Connections beyond it stay; Take refuses until enough of them have ended.
func (l *Load) SetLimit(limit int) { l.limit.Store(int64(max(limit, 0))) }
