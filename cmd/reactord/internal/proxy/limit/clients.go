package limit

import (
	"net/netip"
	"sync/atomic"
)

// Clients is byte buckets for each address of a client: an IPv4 address, or the first 64 bits of an IPv6 address. An
// address has an entry in the table while it has connections, and until another one needs the entry and its buckets are
// full, with which every address begins. If all entries of a set are in use, further addresses share those that are
// there: their limits are stricter, never weaker.
type Clients struct {
	table table[[2]ByteBucket] // the state of an entry is how many connections have it
}

// clientEntries is the size of the table, which takes 24 bytes an entry.
const clientEntries = 1 << 16

// NewClients makes a table in which all buckets are full.
func NewClients() *Clients { return &Clients{newTable[[2]ByteBucket](32, 64, clientEntries)} }

// Client is the buckets of an address, by direction. The zero Client has none.
type Client struct {
	word    *atomic.Uint64
	buckets *[2]ByteBucket
}

// Acquire returns the buckets of an address for one more connection, which calls Release once.
func (c *Clients) Acquire(address netip.Addr, now int64) Client {
	set, mark := c.table.set(address)
	for {
		var seen [ways]uint64
		i, unused := set.find(mark, &seen), false
		if i < 0 {
			i, unused = place(set, mark, &seen, now)
		}
		next := seen[i] + 1
		if unused {
			next = word(mark, 1)
		}
		if set.words[i].CompareAndSwap(seen[i], next) && !(unused && set.yields(i, next)) {
			return Client{&set.words[i], &set.more[i]}
		}
	}
}

// place returns the index of the entry for a further address: an unused one, or else one that it shares.
func place(set *set[[2]ByteBucket], mark uint32, seen *[ways]uint64, now int64) (i int, unused bool) {
	for i, w := range seen {
		if b := &set.more[i]; uint32(w) == 0 && b[0].full.Load() <= now && b[1].full.Load() <= now {
			return i, true
		}
	}
	return int(mark % ways), false
}

// Limited reports whether there are buckets.
func (c Client) Limited() bool { return c.word != nil }

// Bucket returns the bucket of a direction.
func (c Client) Bucket(from int) *ByteBucket { return &c.buckets[from] }

// Release gives the buckets back.
func (c Client) Release() { c.word.Add(^uint64(0)) }
