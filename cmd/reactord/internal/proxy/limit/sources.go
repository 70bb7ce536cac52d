package limit

import (
	"encoding/binary"
	"iter"
	"math"
	"net/netip"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Sources counts the open connections of each prefix of clients' addresses, in a table of fixed size. A prefix has an
// entry as long as it has connections: no other prefix can take it. When all entries of a set are in use, connections
// of further prefixes are not counted and not limited. So whoever fills the table escapes the limit with further
// prefixes, and changes nothing for those that have an entry, or that would get none.
//
// The count of a prefix is exact. Two loops that begin to count the same prefix at the same time may take two entries
// for it; one of them gives its entry back before it goes on. If a third one has found that entry meanwhile, both stay
// until their connections have ended, and the count of the prefix is the sum.
//
// An entry also has the history of its prefix, for people. Of prefixes without connections, the one that was active
// last keeps its history for longest.
type Sources struct {
	counts config.SourceConnections
	table  table[history] // the state of an entry is how many connections have it
}

// history is what the connections of a prefix have done since it has its entry.
type history struct {
	address  [2]atomic.Uint64 // of the prefix, with 16 bytes
	active   atomic.Int64     // when a connection was accepted or refused last
	accepted atomic.Uint64
	bytes    [2]atomic.Uint64 // of connections that have ended; from the client, from the server
	refused  [sourceLimits]atomic.Uint64
}

// SourceLimit is a limit by source that refuses connections.
type SourceLimit uint8

// The limits by source.
const (
	ByConnections SourceLimit = iota
	ByRate
	sourceLimits
)

// begin begins the history of another prefix.
func (h *history) begin(prefix netip.Prefix) {
	b := prefix.Addr().As16()
	for i := range h.address {
		h.address[i].Store(binary.BigEndian.Uint64(b[8*i:]))
	}
	h.accepted.Store(0)
	for i := range h.bytes {
		h.bytes[i].Store(0)
	}
	for i := range h.refused {
		h.refused[i].Store(0)
	}
}

// Renew returns the table that a setting asks for: s, if it counts the same prefixes, or else an empty one. Without a
// limit there is none. It may be called on nil, and return it.
func (s *Sources) Renew(counts config.SourceConnections) *Sources {
	if counts.Max == 0 {
		return nil
	}
	counts.Max = 0
	if s != nil && s.counts == counts {
		return s
	}
	return &Sources{counts, newTable[history](counts.IPv4Prefix, counts.IPv6Prefix, counts.Sources)}
}

// Source counts a connection of a prefix. The zero Source counts none, and its methods do nothing.
type Source struct {
	word    *atomic.Uint64
	history *history
}

// NoMost is the limit of connections that are counted and not limited.
const NoMost = 1<<31 - 1

// Acquire counts a connection of a client, unless its prefix has as many as it may have: then it reports false. The
// caller calls Release once. If the table has no entry for the prefix, the Source is the zero one.
func (s *Sources) Acquire(client netip.Addr, most int, now int64) (counts Source, ok bool) {
	set, mark := s.table.set(client)
	for {
		var seen [ways]uint64
		at, open := set.open(mark, &seen)
		if at >= 0 && open >= most {
			set.more[at].refuse(ByConnections, now)
			return Source{}, false
		}
		next := uint64(0)
		if at >= 0 {
			next = seen[at] + 1
		} else if at = leastActive(set, &seen); at >= 0 {
			next = word(mark, 1)
		} else {
			return Source{}, true
		}
		if set.words[at].CompareAndSwap(seen[at], next) {
			if markOf(seen[at]) != mark {
				if set.yields(at, next) {
					continue
				}
				set.more[at].begin(s.table.prefix(client))
			}
			return Source{&set.words[at], &set.more[at]}, true
		}
	}
}

// open returns the index of the first entry with a mark, or -1, and how many connections all entries with it have. It
// stores the words that it has read in seen.
func (s *set[E]) open(mark uint32, seen *[ways]uint64) (at, open int) {
	at = -1
	for i := range s.words {
		w := s.words[i].Load()
		if seen[i] = w; markOf(w) == mark {
			open += int(uint32(w))
			if at < 0 {
				at = i
			}
		}
	}
	return at, open
}

// leastActive returns the index of an entry without connections: of one that has no history, or the oldest one. If all
// have connections it returns -1.
func leastActive(set *set[history], seen *[ways]uint64) (at int) {
	at = -1
	oldest := int64(math.MaxInt64)
	for i, w := range seen {
		if w == 0 {
			return i
		}
		if uint32(w) == 0 {
			if active := set.more[i].active.Load(); active < oldest {
				at, oldest = i, active
			}
		}
	}
	return at
}

// Connections returns how many connections of a client's prefix are counted.
func (s *Sources) Connections(client netip.Addr) (n int) {
	set, mark := s.table.set(client)
	var seen [ways]uint64
	_, n = set.open(mark, &seen)
	return n
}

// Prefix returns the prefix that a client's connections are counted by.
func (s *Sources) Prefix(client netip.Addr) netip.Prefix { return s.table.prefix(client) }

// Counted reports whether the connection is counted.
func (c Source) Counted() bool { return c.word != nil }

// Release ends the counting of the connection.
func (c Source) Release() {
	if c.word != nil {
		c.word.Add(^uint64(0))
	}
}

// Accepted notes that the connection was accepted.
func (c Source) Accepted(now int64) {
	if c.history != nil {
		c.history.accepted.Add(1)
		c.history.active.Store(now)
	}
}

// Refused notes that the connection was refused by another limit by source.
func (c Source) Refused(by SourceLimit, now int64) {
	if c.history != nil {
		c.history.refuse(by, now)
	}
}

func (h *history) refuse(by SourceLimit, now int64) {
	h.refused[by].Add(1)
	h.active.Store(now)
}

// Ended notes the bytes of the connection, from the client and from the server, before Release.
func (c Source) Ended(bytes [2]uint64) {
	if c.history != nil {
		for i, n := range bytes {
			c.history.bytes[i].Add(n)
		}
	}
}

// SourceReading is a reading of an entry.
type SourceReading struct {
	Prefix      netip.Prefix
	Connections int                  // open
	Accepted    uint64               // so far
	Bytes       [2]uint64            // of connections that have ended; from the client, from the server
	Refused     [sourceLimits]uint64 // by [SourceLimit]
}

// All reads the entries, one after another, while the loops change them. Two may have the same prefix for a
// moment: see [Sources].
func (s *Sources) All() iter.Seq[SourceReading] {
	return func(yield func(SourceReading) bool) {
		for i := range s.table.sets {
			set := &s.table.sets[i]
			for way := range set.words {
				w := set.words[way].Load()
				if w == 0 {
					continue
				}
				r, known := s.read(set, &set.more[way], markOf(w))
				if r.Connections = int(uint32(w)); known && !yield(r) {
					return
				}
			}
		}
	}
}

// read reads the history of an entry with a mark. It reports whether that is its prefix: another one may be taking it.
func (s *Sources) read(of *set[history], h *history, mark uint32) (r SourceReading, known bool) {
	var b [16]byte
	for i := range h.address {
		binary.BigEndian.PutUint64(b[8*i:], h.address[i].Load())
	}
	address := netip.AddrFrom16(b)
	r = SourceReading{Prefix: s.table.prefix(address), Accepted: h.accepted.Load()}
	for i := range h.bytes {
		r.Bytes[i] = h.bytes[i].Load()
	}
	for i := range h.refused {
		r.Refused[i] = h.refused[i].Load()
	}
	at, its := s.table.set(address)
	return r, at == of && its == mark
}
