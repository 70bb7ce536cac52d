package limit

import (
	"encoding/binary"
	"iter"
	"net/netip"
	"sync/atomic"
	"time"
)

// Sticky remembers for each prefix of clients' addresses what was chosen for it last, in a table of fixed size. A
// prefix without an entry takes the one of its set that was used the longest ago. A loop may still see what another one
// has just replaced, and for a moment that of the prefix which had the entry before.
type Sticky[T any] struct {
	ipv4, ipv6 int
	entries    int
	table      table[stuck[T]] // the state of an entry is when it was used last, in seconds
}

// stuck is what was chosen for the prefix of an entry.
type stuck[T any] struct {
	address [2]atomic.Uint64 // of the prefix, with 16 bytes
	choice  atomic.Pointer[T]
}

// NewSticky makes an empty table.
func NewSticky[T any](ipv4, ipv6, entries int) *Sticky[T] {
	return &Sticky[T]{ipv4, ipv6, entries, newTable[stuck[T]](ipv4, ipv6, entries)}
}

// Is reports whether the table has prefixes of these lengths, and so many entries.
func (s *Sticky[T]) Is(ipv4, ipv6, entries int) bool {
	return s.ipv4 == ipv4 && s.ipv6 == ipv6 && s.entries == entries
}

// Prefix returns the prefix that a client is remembered by.
func (s *Sticky[T]) Prefix(client netip.Addr) netip.Prefix { return s.table.prefix(client) }

// begins is the state of an entry that was used when the clock began: what was used before is restored, too.
const begins = 1 << 30

// second returns the state of an entry that is used now.
func second(now int64) uint32 { return uint32(now/int64(time.Second)) + begins }

// age returns how long ago an entry was used, by its word. It is never negative.
func age(word uint64, now int64) time.Duration {
	return time.Duration(max(int32(second(now)-uint32(word)), 0)) * time.Second
}

// Find returns what was chosen for a client's prefix, if that was used within a time, or else nil.
func (s *Sticky[T]) Find(client netip.Addr, now int64, within time.Duration) *T {
	set, mark := s.table.set(client)
	var seen [ways]uint64
	i := set.find(mark, &seen)
	if i < 0 || age(seen[i], now) > within {
		return nil
	}
	return set.more[i].choice.Load()
}

// Use notes what was chosen for a client's prefix now.
func (s *Sticky[T]) Use(client netip.Addr, choice *T, now int64) { s.put(client, choice, second(now)) }

// Restore notes what was chosen for a client's prefix some time ago.
func (s *Sticky[T]) Restore(client netip.Addr, choice *T, now int64, ago time.Duration) {
	s.put(client, choice, second(now)-uint32(min(ago/time.Second, begins-1)))
}

func (s *Sticky[T]) put(client netip.Addr, choice *T, used uint32) {
	set, mark := s.table.set(client)
	for {
		var seen [ways]uint64
		i := set.find(mark, &seen)
		known := i >= 0
		if !known {
			i = longestUnused(&seen)
		}
		next := word(mark, used)
		if seen[i] != next && !set.words[i].CompareAndSwap(seen[i], next) || !known && set.yields(i, next) {
			continue
		}
		of := &set.more[i]
		if !known {
			b := s.table.prefix(client).Addr().As16()
			for k := range of.address {
				of.address[k].Store(binary.BigEndian.Uint64(b[8*k:]))
			}
		}
		if of.choice.Load() != choice {
			of.choice.Store(choice)
		}
		return
	}
}

// longestUnused returns the index of a free entry, or of the one that was used the longest ago.
func longestUnused(seen *[ways]uint64) (place int) {
	for i, w := range seen {
		if uint32(w) < uint32(seen[place]) {
			place = i
		}
	}
	return place
}

// StuckReading is a reading of an entry.
type StuckReading[T any] struct {
	Prefix netip.Prefix
	Choice *T
	Unused time.Duration // since it was used last
}

// All reads the entries that were used within a time, one after another, while the loops change them.
func (s *Sticky[T]) All(now int64, within time.Duration) iter.Seq[StuckReading[T]] {
	return func(yield func(StuckReading[T]) bool) {
		for i := range s.table.sets {
			set := &s.table.sets[i]
			for way := range set.words {
				w, of := set.words[way].Load(), &set.more[way]
				if w == 0 || age(w, now) > within {
					continue
				}
				var b [16]byte
				for k := range of.address {
					binary.BigEndian.PutUint64(b[8*k:], of.address[k].Load())
				}
				r := StuckReading[T]{s.table.prefix(netip.AddrFrom16(b)), of.choice.Load(), age(w, now)}
				at, mark := s.table.set(netip.AddrFrom16(b))
				if at == set && mark == markOf(w) && r.Choice != nil && !yield(r) { // else another prefix takes it
					return
				}
			}
		}
	}
}

// Len returns how many entries were used within a time.
func (s *Sticky[T]) Len(now int64, within time.Duration) (n int) {
	for i := range s.table.sets {
		for k := range s.table.sets[i].words {
			if w := s.table.sets[i].words[k].Load(); w != 0 && age(w, now) <= within {
				n++
			}
		}
	}
	return n
}
