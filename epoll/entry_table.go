//go:build linux

package epoll

import (
	"math/bits"

	"github.com/reactord/reactord/internal/assert"
)

// userDataTable finds entries in flight by their user_data. It is a hash table chained through the entries. The latest
// of several with one user_data comes first, as with the kernel.
type userDataTable struct {
	buckets []uint32 // their number is a power of two
	shift   uint     // 64 − log2 of it
	count   int
}

func (t *userDataTable) init(n int) {
	t.buckets = make([]uint32, n)
	t.shift = uint(64 - bits.TrailingZeros(uint(n)))
}

// bucket hashes by multiplication with the golden ratio: user_data often is a small counter in the high or the low
// bits.
func (t *userDataTable) bucket(userData uint64) *uint32 {
	return &t.buckets[userData*0x9E3779B97F4A7C15>>t.shift]
}

func (t *userDataTable) insert(es *entries, e *entry) {
	if t.count == len(t.buckets) {
		t.grow(es)
	}
	b := t.bucket(e.UserData)
	e.chain = *b
	*b = e.index
	t.count++
}

func (t *userDataTable) remove(es *entries, e *entry) {
	p := t.bucket(e.UserData)
	for *p != e.index {
		if assert.Enabled && *p == 0 {
			panic("epoll: an entry in flight is not in the user_data table")
		}
		p = &es.at(*p).chain
	}
	*p = e.chain
	t.count--
}

// find returns the latest entry with a user_data, or nil.
func (t *userDataTable) find(es *entries, userData uint64) *entry {
	e := es.find(*t.bucket(userData))
	for e != nil && e.UserData != userData {
		e = es.find(e.chain)
	}
	return e
}

func (t *userDataTable) grow(es *entries) {
	old := t.buckets
	t.init(2 * len(old))
	for _, i := range old {
		// Insert the chain from its end, to keep the order of equal ones.
		var reversed uint32
		for i != 0 {
			i, es.at(i).chain, reversed = es.at(i).chain, reversed, i
		}
		for reversed != 0 {
			e := es.at(reversed)
			reversed = e.chain
			b := t.bucket(e.UserData)
			e.chain = *b
			*b = e.index
		}
	}
}
