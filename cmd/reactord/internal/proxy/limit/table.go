package limit

import (
	"hash/maphash"
	"math/bits"
	"net/netip"
	"sync/atomic"
)

// table finds what is kept for the prefix of a client's address. Its size is fixed, and the loops share it without
// locks. A prefix has its place in one of the entries of a set; what else an entry has is an E.
//
// The word of an entry has the prefix's mark, a part of its hash, in the upper half. The lower half is for the table's
// user, who also decides which entry a prefix takes that has none. 0 is an entry of no prefix.
type table[E any] struct {
	ipv4, ipv6 int // lengths of prefixes in bits
	seed       maphash.Seed
	sets       []set[E] // a power of two
}

const ways = 8

// set is entries; their words are a cache line.
type set[E any] struct {
	more  [ways]E
	words [ways]atomic.Uint64
}

func newTable[E any](ipv4, ipv6, entries int) table[E] {
	return table[E]{
		ipv4: ipv4, ipv6: ipv6, seed: maphash.MakeSeed(),
		sets: make([]set[E], 1<<bits.Len(uint((max(entries, 1)-1)/ways))),
	}
}

func word(mark, state uint32) uint64 { return uint64(mark)<<32 | uint64(state) }

func markOf(word uint64) uint32 { return uint32(word >> 32) }

// prefix returns the prefix of a client's address.
func (t *table[E]) prefix(client netip.Addr) netip.Prefix {
	return PrefixOf(client, t.ipv4, t.ipv6)
}

// PrefixOf returns the prefix of a client's address, with the length for its family.
func PrefixOf(client netip.Addr, ipv4, ipv6 int) netip.Prefix {
	client = client.Unmap()
	length := ipv6
	if client.Is4() {
		length = ipv4
	}
	prefix, err := client.WithZone("").Prefix(length)
	if err != nil { // the client is a unix socket, or the length is wrong: one prefix for all
		return netip.Prefix{}
	}
	return prefix
}

// set returns the set of a client's prefix, and the prefix's mark. The hash has a random key, so that no client can
// choose its set.
func (t *table[E]) set(client netip.Addr) (*set[E], uint32) {
	b := t.prefix(client).Addr().As16()
	h := maphash.Bytes(t.seed, b[:])
	return &t.sets[h&uint64(len(t.sets)-1)], max(uint32(h>>32), 1)
}

// find returns the index of the entry with a mark, or -1, and stores the words that it has read in seen. It reads each
// word once, and the caller swaps only words that it has seen: so the same entry is not taken for two prefixes.
func (s *set[E]) find(mark uint32, seen *[ways]uint64) int {
	for i := range s.words {
		seen[i] = s.words[i].Load()
		if markOf(seen[i]) == mark {
			return i
		}
	}
	return -1
}

// yields gives an entry back that was just taken for a mark with the word own, if another one has the mark: two loops
// that meet a prefix at the same moment may take two entries for it. Each looks for a twin after it has stored its
// word, so one of them sees the other's at least. It reports whether the entry was given back; then the caller begins
// again, and finds the twin.
func (s *set[E]) yields(at int, own uint64) bool {
	for i := range s.words {
		if i != at && markOf(s.words[i].Load()) == markOf(own) {
			return s.words[at].CompareAndSwap(own, 0)
		}
	}
	return false
}
