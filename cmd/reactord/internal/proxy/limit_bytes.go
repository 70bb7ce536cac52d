package proxy

import (
	"hash/maphash"
	"math/bits"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// byteRate is how fast a bucket of bytes is refilled, and how much it holds. The zero byteRate is without limit.
type byteRate struct {
	perSecond int64
	burst     int64 // ns: how long it takes to refill the bucket
}

func newByteRate(perSecond, burst config.Size) byteRate {
	r := byteRate{perSecond: min(int64(perSecond), 1<<40), burst: int64(time.Second) / 4}
	if r.perSecond <= 0 {
		return byteRate{}
	}
	if burst > 0 {
		r.burst = r.cost(int(burst))
	}
	return r
}

func (r byteRate) limited() bool { return r.perSecond != 0 }

// maxCost bounds the time that bytes take, and by how much a bucket is taken out of in advance, so that no sum of them
// overflows.
const maxCost = int64(1) << 55

// cost is how long n bytes take, in ns.
func (r byteRate) cost(n int) int64 {
	hi, lo := bits.Mul64(uint64(max(n, 0)), uint64(time.Second))
	if hi >= uint64(r.perSecond) {
		return maxCost
	}
	ns, _ := bits.Div64(hi, lo, uint64(r.perSecond))
	return int64(min(ns, uint64(maxCost)))
}

// byteBucket is a token bucket of bytes: the time on the clock of the loops at which it is full again. Bytes move that
// time. It may be taken out of in advance: then the time says when these bytes may come, behind all that were taken
// before. So directions that wait are served in order, on all loops, without a list of them.
type byteBucket struct{ full atomic.Int64 }

// reserve takes n bytes, and returns from when on they may come: a time in the past if they may come now.
func (b *byteBucket) reserve(r byteRate, n int, now int64) (from int64) {
	cost := r.cost(n)
	for {
		before := b.full.Load()
		full := max(before, now)
		if b.full.CompareAndSwap(before, now+min(full-now+cost, maxCost)) {
			return full - r.burst
		}
	}
}

// giveBack gives back n bytes that were reserved and did not come.
func (b *byteBucket) giveBack(r byteRate, n int) { b.full.Add(-r.cost(n)) }

// byteSource is the buckets of a client's address.
type byteSource struct {
	user    atomic.Uint64 // a part of the hash of the address, and how many connections have the entry
	buckets [2]byteBucket
}

const (
	byteSourceSets = 1 << 13
	byteSourceWays = 8
	userBits       = 24
)

// byteSources is a table of fixed size, which the loops share without locks. An address has an entry while it has
// connections, and until another one needs the entry and its buckets are full, with which every address begins. If all
// entries of a set are in use, further addresses share those that are there: their limits are stricter, never weaker.
type byteSources struct {
	seed maphash.Seed
	sets [byteSourceSets][byteSourceWays]byteSource
}

func newByteSources() *byteSources { return &byteSources{seed: maphash.MakeSeed()} }

// acquire is the entry of an address, for one more connection. release gives it back.
func (s *byteSources) acquire(client netip.Addr, now int64) *byteSource {
	h := s.hash(client)
	set, mark := &s.sets[h%byteSourceSets], max(h>>userBits, 1)
	for {
		var place *byteSource
		var before, after uint64
		for i := range set {
			e := &set[i]
			user := e.user.Load()
			if user>>userBits == mark {
				place, before, after = e, user, user+1
				break
			}
			if place == nil && user&(1<<userBits-1) == 0 && e.isFull(now) {
				place, before, after = e, user, mark<<userBits|1
			}
		}
		if place == nil {
			place = &set[mark%byteSourceWays]
			before = place.user.Load()
			after = before + 1
		}
		if place.user.CompareAndSwap(before, after) {
			return place
		}
	}
}

func (e *byteSource) isFull(now int64) bool {
	return e.buckets[client].full.Load() <= now && e.buckets[server].full.Load() <= now
}

func (e *byteSource) release() { e.user.Add(^uint64(0)) }

// hash is the hash of an IPv4 address, or of the first 64 bits of an IPv6 address. Its key is random, so that no client
// can choose its set.
func (s *byteSources) hash(client netip.Addr) uint64 {
	client = client.Unmap()
	length := 64
	if client.Is4() {
		length = 32
	}
	prefix, _ := client.WithZone("").Prefix(length)
	b := prefix.Addr().As16() // of a unix socket: zeros
	return maphash.Bytes(s.seed, b[:])
}
