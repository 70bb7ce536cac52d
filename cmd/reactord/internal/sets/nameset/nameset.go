// Package nameset implements sets of server names, from a few to millions.
//
// An entry is a name, as in "example.org", or "*.example.org" for every name below it. A [Set] is immutable, so it may
// be used from any thread. [Set.Contains] does not allocate: it looks the name up, and each name above it. A set takes
// the bytes of its names, 4 more for each, and 8 to 16 for its place in a table.
package nameset

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
)

// Set is a set of names. A nil Set is empty.
type Set struct {
	exact, below table
}

// table is the names of one kind, with open addressing.
type table struct {
	seed  maphash.Seed
	text  string   // the names, one after the other
	ends  []uint32 // of the names in text
	slots []uint32 // the numbers of names plus 1; 0 is free. Their number is a power of two
}

// Builder collects the names of a [Set]. The zero Builder is ready for use, by one goroutine.
type Builder struct {
	exact, below []string
}

// Add adds an entry in lower case.
func (b *Builder) Add(entry string) {
	if name, wild := strings.CutPrefix(entry, wildcard); wild {
		b.below = append(b.below, name)
	} else {
		b.exact = append(b.exact, entry)
	}
}

const wildcard = "*."

// Len returns how many entries were added.
func (b *Builder) Len() int { return len(b.exact) + len(b.below) }

// Set returns the set of the entries, and empties the builder.
func (b *Builder) Set() *Set {
	s := &Set{newTable(b.exact), newTable(b.below)}
	*b = Builder{}
	return s
}

// New returns the set of these entries in lower case.
func New(entries []string) *Set {
	var b Builder
	for _, e := range entries {
		b.Add(e)
	}
	return b.Set()
}

func newTable(names []string) (t table) {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return t
	}
	size := 0
	for _, n := range names {
		size += len(n)
	}
	t.seed, t.ends = maphash.MakeSeed(), make([]uint32, 0, len(names))
	t.slots = make([]uint32, 1<<bits.Len(uint(2*len(names)-1)))
	var text strings.Builder
	text.Grow(size)
	for i, n := range names {
		text.WriteString(n)
		t.ends = append(t.ends, uint32(text.Len()))
		at := t.slot(n)
		for t.slots[at] != 0 {
			at = (at + 1) & (len(t.slots) - 1)
		}
		t.slots[at] = uint32(i + 1)
	}
	t.text = text.String()
	return t
}

// slot returns where the search for a name begins. The hash has a random key, so that no list can be made that is slow.
func (t *table) slot(name string) int { return int(maphash.String(t.seed, name)) & (len(t.slots) - 1) }

func (t *table) has(name string) bool {
	if len(t.slots) == 0 {
		return false
	}
	for at := t.slot(name); t.slots[at] != 0; at = (at + 1) & (len(t.slots) - 1) {
		if t.name(int(t.slots[at])-1) == name {
			return true
		}
	}
	return false
}

func (t *table) name(i int) string {
	begin := uint32(0)
	if i > 0 {
		begin = t.ends[i-1]
	}
	return t.text[begin:t.ends[i]]
}

// Contains reports whether a name in lower case is in the set, or below a name whose wildcard is. The empty name is in
// no set.
func (s *Set) Contains(name string) bool {
	_, wild := s.find(name)
	return wild || s != nil && s.exact.has(name)
}

// find returns the name above this one that has a wildcard, the longest one.
func (s *Set) find(name string) (above string, wild bool) {
	if s == nil || len(s.below.slots) == 0 {
		return "", false
	}
	for more := true; more; {
		if _, name, more = strings.Cut(name, "."); more && s.below.has(name) {
			return name, true
		}
	}
	return "", false
}

// Match returns the entry that a name is in the set by: itself, or the longest wildcard above it.
func (s *Set) Match(name string) (entry string, in bool) {
	if s != nil && s.exact.has(name) {
		return name, true
	}
	above, wild := s.find(name)
	if !wild {
		return "", false
	}
	return wildcard + above, true
}

// Len returns how many entries there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.exact.ends) + len(s.below.ends)
}

// Bytes returns the memory that the names take.
func (s *Set) Bytes() int {
	if s == nil {
		return 0
	}
	return s.exact.bytes() + s.below.bytes()
}

func (t *table) bytes() int { return len(t.text) + 4*(cap(t.ends)+cap(t.slots)) }

// Entries returns the entries in no order.
func (s *Set) Entries() (all []string) {
	if s == nil {
		return nil
	}
	for i := range s.exact.ends {
		all = append(all, s.exact.name(i))
	}
	for i := range s.below.ends {
		all = append(all, wildcard+s.below.name(i))
	}
	return all
}
