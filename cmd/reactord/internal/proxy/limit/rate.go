package limit

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Rate is the fill rate and the capacity of a bucket of connections. The zero Rate is without limit.
type Rate struct {
	interval int64 // ns for one connection
	burst    int64 // connections
}

// NewRate returns the rate of a setting. Without a burst, as many connections may come together as in a second.
func NewRate(r config.Rate) Rate {
	if r.Connections <= 0 {
		return Rate{}
	}
	burst := r.Burst
	if burst <= 0 {
		burst = r.Connections
	}
	return Rate{interval: max(int64(time.Second)/int64(r.Connections), 1), burst: int64(burst)}
}

// Bucket is a token bucket that the loops share. It is one number, the time at which the bucket will be full again:
// each connection moves it by the interval. So the limit is exact, for all loops together.
type Bucket struct {
	_    [64]byte
	full atomic.Int64 // ns on the clock of the loops
	_    [64]byte
}

// Take takes a connection out of the bucket. If there is none, it returns how long until there is one.
func (b *Bucket) Take(r Rate, now int64) (wait time.Duration) {
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

// Give puts back what was taken for a connection that did not come.
func (b *Bucket) Give(r Rate) {
	if r.interval != 0 {
		b.full.Add(-r.interval)
	}
}
