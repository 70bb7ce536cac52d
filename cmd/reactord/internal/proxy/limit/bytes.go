package limit

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// ByteRate is the fill rate and the capacity of a bucket of bytes. The zero ByteRate is without limit.
type ByteRate struct {
	perSecond int64
	burst     int64 // ns: how long it takes to refill the bucket
}

// NewByteRate returns a rate of bytes per second; 0 is without limit. burst is how many may come together; 0 means
// those of a quarter of a second.
func NewByteRate(perSecond, burst config.Size) ByteRate {
	r := ByteRate{perSecond: min(int64(perSecond), 1<<40), burst: int64(time.Second) / 4}
	if r.perSecond <= 0 {
		return ByteRate{}
	}
	if burst > 0 {
		r.burst = r.cost(int(burst))
	}
	return r
}

// Limited reports whether there is a limit.
func (r ByteRate) Limited() bool { return r.perSecond != 0 }

// Burst returns how many bytes may come together.
func (r ByteRate) Burst() int64 { return int64(float64(r.perSecond) * float64(r.burst) / 1e9) }

// maxCost bounds the time that bytes take, and by how much a bucket is taken out of in advance, so that no sum of them
// overflows.
const maxCost = int64(1) << 55

// cost returns how long n bytes take, in ns.
func (r ByteRate) cost(n int) int64 {
	hi, lo := bits.Mul64(uint64(max(n, 0)), uint64(time.Second))
	if hi >= uint64(r.perSecond) {
		return maxCost
	}
	ns, _ := bits.Div64(hi, lo, uint64(r.perSecond))
	return int64(min(ns, uint64(maxCost)))
}

// ByteBucket is a token bucket of bytes: the time on the clock of the loops at which it is full again. Bytes move that
// time. It may be taken out of in advance: then the time says when these bytes may come, behind all that were taken
// before. So those that wait are served in order, on all loops, without a list of them.
type ByteBucket struct{ full atomic.Int64 }

// Reserve takes n bytes, and returns from when on they may come: a time in the past if they may come now.
func (b *ByteBucket) Reserve(r ByteRate, n int, now int64) (from int64) {
	cost := r.cost(n)
	for {
		before := b.full.Load()
		full := max(before, now)
		if b.full.CompareAndSwap(before, now+min(full-now+cost, maxCost)) {
			return full - r.burst
		}
	}
}

// GiveBack gives back n bytes that were reserved and did not come.
func (b *ByteBucket) GiveBack(r ByteRate, n int) { b.full.Add(-r.cost(n)) }

// RefilledAt returns when the bucket is full again.
func (b *ByteBucket) RefilledAt() int64 { return b.full.Load() }

// RefillAt lets the bucket be full again at a time, and not before.
func (b *ByteBucket) RefillAt(at int64) { b.full.Store(at) }

// Refill fills the bucket, whatever was taken out of it.
func (b *ByteBucket) Refill() { b.full.Store(0) }
