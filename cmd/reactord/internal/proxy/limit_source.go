package proxy

import (
	"hash/maphash"
	"math/bits"
	"net/netip"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// sourceBuckets is the token buckets of source prefixes: a table of fixed size that the loops share without locks. A
// prefix has its place in one of the 8 entries of a set. The limit is exact for a prefix while it has an entry. A
// prefix without one takes that of the prefix in its set whose bucket is the fullest: if that is full nothing is lost,
// because a full bucket is what a prefix begins with. So limits weaken when more prefixes than the table remembers
// connect at a time.
type sourceBuckets struct {
	config config.SourceRate
	seed   maphash.Seed
	unit   int64 // ns; the times of entries are multiples of it
	cost   int32 // of a connection, in units
	most   int32 // how far ahead of now an entry's time may be before a connection is taken, in units
	sets   []sourceSet
}

// sourceSet is a cache line.
type sourceSet [sourceWays]atomic.Uint64

const sourceWays = 8

// An entry is a part of the hash of the prefix and the time, modulo 2^32 units, at which its bucket will be full. 0 is
// no entry.
func sourceEntry(mark, full uint32) uint64 { return uint64(mark)<<32 | uint64(full) }

// newSourceBuckets is nil if there is no limit.
func newSourceBuckets(c config.SourceRate) *sourceBuckets {
	r := rateOf(c.Connections, c.Burst)
	if r.interval == 0 {
		return nil
	}
	s := &sourceBuckets{config: c, seed: maphash.MakeSeed(), unit: max(r.interval/16, 1)}
	s.cost = int32(r.interval / s.unit)
	s.most = int32(min(int64(s.cost)*(r.burst-1), 1<<30))
	n := max(c.Sources, 1)
	s.sets = make([]sourceSet, 1<<bits.Len(uint((n-1)/sourceWays)))
	return s
}

// take takes a connection out of the bucket of a client's prefix. False: there is none. On any thread.
func (s *sourceBuckets) take(client netip.Addr, now int64) bool {
	h := s.hash(client)
	set := &s.sets[h&uint64(len(s.sets)-1)]
	mark, at := max(uint32(h>>32), 1), uint32(now/s.unit)
	for {
		place, before, ahead := set.find(mark, at, s.most+s.cost)
		if ahead > s.most {
			return false
		}
		if place.CompareAndSwap(before, sourceEntry(mark, at+uint32(ahead)+uint32(s.cost))) {
			return true
		}
	}
}

// find is the entry of a prefix, and how far its time is ahead; or the entry that it is to take. No entry can be ahead
// by more than most: one that seems to be is so old that its time has wrapped around.
func (set *sourceSet) find(mark, at uint32, most int32) (place *atomic.Uint64, before uint64, ahead int32) {
	fullest := most + 1
	for i := range set {
		e := set[i].Load()
		ahead := int32(uint32(e) - at)
		if ahead < 0 || ahead > most {
			ahead = 0
		}
		if uint32(e>>32) == mark {
			return &set[i], e, ahead
		}
		if e == 0 {
			ahead = -1
		}
		if ahead < fullest {
			place, before, fullest = &set[i], e, ahead
		}
	}
	return place, before, 0
}

// hash is the hash of the client's prefix. Its key is random, so that no client can choose its set.
func (s *sourceBuckets) hash(client netip.Addr) uint64 {
	b := s.prefix(client).Addr().As16()
	return maphash.Bytes(s.seed, b[:])
}

// prefix is the client's prefix.
func (s *sourceBuckets) prefix(client netip.Addr) netip.Prefix {
	client = client.Unmap()
	length := s.config.IPv6Prefix
	if client.Is4() {
		length = s.config.IPv4Prefix
	}
	prefix, err := client.WithZone("").Prefix(length)
	if err != nil { // the client is a unix socket, or the length is wrong: one bucket for all
		return netip.Prefix{}
	}
	return prefix
}
