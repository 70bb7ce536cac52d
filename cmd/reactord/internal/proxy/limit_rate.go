package proxy

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// rate is how fast a bucket is refilled, and how much it holds. The zero rate is without limit.
type rate struct {
	interval int64 // ns for one connection
	burst    int64 // connections
}

func rateOf(connections, burst int) rate {
	if connections <= 0 {
		return rate{}
	}
	if burst <= 0 {
		burst = connections
	}
	return rate{interval: max(int64(time.Second)/int64(connections), 1), burst: int64(burst)}
}

func newRate(r config.Rate) rate { return rateOf(r.Connections, r.Burst) }

// bucket is a token bucket that the loops share. It is one number, the time at which the bucket will be full again:
// each connection moves it by the interval. So the limit is exact, for all loops together.
type bucket struct {
	_    cacheLine
	full atomic.Int64 // ns on the clock of the loops
	_    cacheLine
}

// take takes a connection out of the bucket. If there is none, it returns how long until there is one.
func (b *bucket) take(r rate, now int64) (wait time.Duration) {
	if r.interval == 0 {
		return 0
	}
	for {
		before := b.full.Load()
		full := max(before, now)
		if wait := full - now - r.interval*(r.burst-1); wait > 0 {
			return time.Duration(wait)
		}
		if b.full.CompareAndSwap(before, full+r.interval) {
			return 0
		}
	}
}

// give puts back what was taken for a connection that did not come.
func (b *bucket) give(r rate) {
	if r.interval != 0 {
		b.full.Add(-r.interval)
	}
}
