package balance

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"net/netip"
)

var (
	// ErrNoServer means that there is no server to try: none has a weight and is healthy, or all of them were tried.
	ErrNoServer = errors.New("no server is available")
	// ErrFull means that servers could be tried, and all of them have as many connections as their limits allow; or that
	// it is not known yet whether some are healthy.
	ErrFull = errors.New("all servers are full")
)

// Request is the connection that a server is picked for.
type Request struct {
	Source netip.Addr // the client's; for source_hash and maglev
	Tried  Set
}

// Picker picks servers for one backend on one loop. The zero Picker is ready. It must not be used from two threads.
type Picker struct {
	random rand.PCG
	seeded bool
	group  *Group // the last one
	turns  turns
	mean   mean
}

// Seed makes what follows reproducible. Without it, a Picker begins at random.
func (p *Picker) Seed(seed uint64) {
	p.random.Seed(seed, 0)
	p.seeded = true
}

// Pick picks a server of g and counts a connection in its Load; the caller gives it back. The index is that of the
// servers that g was made from. The error is [ErrNoServer] or [ErrFull]; then nothing is counted. Pick does not block
// and does not allocate, except that round_robin does when it first sees a group that is larger than those before.
func (p *Picker) Pick(g *Group, r *Request) (index int, err error) {
	if !p.seeded {
		p.random.Seed(rand.Uint64(), rand.Uint64())
		p.seeded = true
	}
	if p.group != g {
		p.adopt(g)
	}
	c := choice{p: p, g: g, tried: &r.Tried}
	if g.policy.hashes() {
		c.hash = g.hashSource(r.Source)
	}
	i := int32(none)
	if g.panic && r.Tried.Len() > 0 {
		// One attempt was wasted on a server that may really be down.
		c.healthy = true
		i = c.anySet()
		c.healthy = false
	}
	if i == none {
		i = c.anySet()
	}
	if i == none && !c.full {
		i = c.lastResort()
	}
	switch {
	case i != none:
		return int(i), nil
	case c.full || g.waiting:
		return 0, ErrFull
	}
	return 0, ErrNoServer
}

// adopt prepares for a group that was not there before.
func (p *Picker) adopt(g *Group) {
	if g.policy == roundRobin {
		p.adoptTurns(g)
	}
	p.mean = mean{}
	p.group = g
}

// none is what is returned instead of the index of a server.
const none = -1

// choice is a Pick under way.
type choice struct {
	p       *Picker
	g       *Group
	tried   *Set
	hash    uint64  // of the client, for the policies that hash
	healthy bool    // only healthy servers will do, although the group is in panic
	full    bool    // a server that would do is full
	bound   float64 // of connections per weight; 0: without bound
}

// anySet takes a server of the set that has its share of the connections, or else of the first set that has one. A
// full server is not left for one of a lower priority, unless that has a share anyway: its connection waits.
func (c *choice) anySet() int32 {
	first := c.drawSet()
	if first == none {
		return none
	}
	if i := c.take(first); i != none {
		return i
	}
	for k := range c.g.sets {
		s := &c.g.sets[k]
		if c.full && s.priority > c.g.active {
			break
		}
		if k == first {
			continue
		}
		if i := c.take(k); i != none {
			return i
		}
	}
	return none
}

// lastResort takes an ejected server, drawn by the weights: an attempt is better than none.
func (c *choice) lastResort() int32 {
	for {
		i, total := int32(none), int64(0)
		for _, k := range c.g.ejected {
			m := &c.g.members[k]
			switch {
			case c.tried.Len() > 0 && c.tried.has(m.id):
			case m.load.Full():
				c.full = true
			default:
				if total += m.weight; c.p.below(total) < m.weight {
					i = k
				}
			}
		}
		if i == none || c.g.members[i].load.Take() {
			return i
		}
	}
}

// drawSet draws a set by the shares. A client whose address decides always gets the same.
func (c *choice) drawSet() int {
	u := -1.0
	last := none
	for k := range c.g.sets {
		share := c.g.sets[k].share
		if share <= 0 {
			continue
		}
		if share >= 1 {
			return k
		}
		if u < 0 {
			u = c.unit()
		}
		if u < share {
			return k
		}
		u -= share
		last = k
	}
	return last // the sum was rounded
}

// take picks a server of a set and counts the connection.
func (c *choice) take(index int) int32 {
	s := &c.g.sets[index]
	if len(s.live) == 0 {
		return none
	}
	for {
		i := c.pick(s, index)
		if i == none || c.g.members[i].load.Take() {
			return i
		}
		// Another loop took the last place. The next pick skips the server, unless a place has become free.
		c.full = true
	}
}

func (c *choice) pick(s *set, index int) int32 {
	switch c.g.policy {
	case roundRobin:
		return c.roundRobin(s)
	case random:
		return c.random(s)
	case leastConnections:
		return c.least(s)
	case sourceHash, maglev:
		return c.hashed(s, index)
	default:
		return c.twoRandom(s)
	}
}

// usable reports whether a member may be picked now.
func (c *choice) usable(i int32) bool {
	m := &c.g.members[i]
	if !m.live || c.healthy && !m.healthy || c.tried.Len() > 0 && c.tried.has(m.id) {
		return false
	}
	if m.load.Full() {
		c.full = true
		return false
	}
	return c.bound == 0 || float64(m.load.N()+1) <= c.limit(m)
}

// below draws a number from 0 to n-1.
func (p *Picker) below(n int64) int64 {
	high, _ := bits.Mul64(p.random.Uint64(), uint64(n))
	return int64(high)
}

// unit draws a number from [0, 1): at random, or for policies that hash from the client's address.
func (c *choice) unit() float64 {
	if c.g.policy.hashes() {
		return toUnit(mix(^c.hash))
	}
	return c.p.fraction()
}

// fraction draws a number from [0, 1).
func (p *Picker) fraction() float64 { return toUnit(p.random.Uint64()) }

func toUnit(u uint64) float64 { return float64(u>>11) / (1 << 53) }
