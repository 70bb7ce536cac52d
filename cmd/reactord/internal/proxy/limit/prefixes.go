package limit

import (
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Prefixes is a rate of new connections for each prefix of clients' addresses. The limit is exact for a prefix while it
// has an entry in the table. A prefix without one takes that of the prefix in its set whose bucket is the fullest: if
// that is full nothing is lost, because a full bucket is what a prefix begins with. So limits weaken when more prefixes
// than the table remembers connect at a time.
type Prefixes struct {
	rate  config.SourceRate
	unit  int64           // ns; the times of entries are multiples of it
	cost  int32           // of a connection, in units
	most  int32           // how far ahead of now an entry's time may be before a connection is taken, in units
	table table[struct{}] // the state of an entry is the time, modulo 2^32 units, at which its bucket will be full
}

// NewPrefixes returns nil if there is no limit.
func NewPrefixes(rate config.SourceRate) *Prefixes {
	r := NewRate(config.Rate{Connections: rate.Connections, Burst: rate.Burst})
	if r.interval == 0 {
		return nil
	}
	p := &Prefixes{rate: rate, unit: max(r.interval/16, 1)}
	p.cost = int32(r.interval / p.unit)
	p.most = int32(min(int64(p.cost)*(r.burst-1), 1<<30))
	p.table = newTable[struct{}](rate.IPv4Prefix, rate.IPv6Prefix, rate.Sources)
	return p
}

// Renew returns the limit that a rate asks for: p, if it has that rate, or else one with an empty table. It may be
// called on nil, and return it.
func (p *Prefixes) Renew(rate config.SourceRate) *Prefixes {
	if p != nil && p.rate == rate {
		return p
	}
	return NewPrefixes(rate)
}

// Prefix returns the prefix that a client's connections are counted by.
func (p *Prefixes) Prefix(client netip.Addr) netip.Prefix { return p.table.prefix(client) }

// Take takes a connection out of the bucket of a client's prefix, and reports whether there was one.
func (p *Prefixes) Take(client netip.Addr, now int64) bool {
	set, mark := p.table.set(client)
	at := uint32(now / p.unit)
	for {
		var seen [ways]uint64
		var ahead int32
		i := set.find(mark, &seen)
		known := i >= 0
		if known {
			ahead = p.ahead(seen[i], at)
		} else {
			i = p.fullest(&seen, at)
		}
		if ahead > p.most {
			return false
		}
		next := word(mark, at+uint32(ahead)+uint32(p.cost))
		if set.words[i].CompareAndSwap(seen[i], next) && (known || !set.yields(i, next)) {
			return true
		}
	}
}

// Exhausted reports whether a client's prefix has no connection left now.
func (p *Prefixes) Exhausted(client netip.Addr, now int64) bool {
	set, mark := p.table.set(client)
	var seen [ways]uint64
	i := set.find(mark, &seen)
	return i >= 0 && p.ahead(seen[i], uint32(now/p.unit)) > p.most
}

// ahead returns how far the time of an entry is ahead of now. No entry can be ahead by more than one connection beyond
// the most: one that seems to be is so old that its time has wrapped around.
func (p *Prefixes) ahead(word uint64, at uint32) int32 {
	if ahead := int32(uint32(word) - at); ahead >= 0 && ahead <= p.most+p.cost {
		return ahead
	}
	return 0
}

// fullest returns the index of the entry that a further prefix takes: a free one, or that with the fullest bucket.
func (p *Prefixes) fullest(seen *[ways]uint64, at uint32) (place int) {
	least := p.most + p.cost + 1
	for i, e := range seen {
		ahead := int32(-1)
		if e != 0 {
			ahead = p.ahead(e, at)
		}
		if ahead < least {
			place, least = i, ahead
		}
	}
	return place
}
