package balance

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"net/netip"
)

var (
	// ErrNoServer reports that no server is left to try: none is healthy and has a weight, or all were tried.
	ErrNoServer = errors.New("no server is available")
	// ErrFull reports that there are servers to try, but all are at their limits, or the health of some is not known
	// yet.
	ErrFull = errors.New("all servers are full")
)

// Request is a connection that needs a server.
type Request struct {
	ClientAddr netip.Addr // for policies that hash
	Tried      Set
}

// Picker picks servers for one backend on one loop. The zero Picker is ready. It must not be copied after the first
// Pick, nor used from two threads.
type Picker struct {
	random rand.PCG
	seeded bool
	group  *Group // the last group
	turns  turns
	mean   mean
	choice choice // the Pick under way; on the stack, it would escape through the functions of a policy
}

// Seed makes the choices reproducible. Without it, a Picker is seeded at random.
func (p *Picker) Seed(seed uint64) {
	p.random.Seed(seed, 0)
	p.seeded = true
}

// Pick picks a server of g and counts a connection in its Load, which the caller gives back. It returns the server's
// index in g. The error is [ErrNoServer] or [ErrFull]; then nothing is counted. Pick does not block and does not
// allocate, except that round_robin does when it first sees a larger group than before.
func (p *Picker) Pick(g *Group, r *Request) (index int, err error) {
	if !p.seeded {
		p.random.Seed(rand.Uint64(), rand.Uint64())
		p.seeded = true
	}
	if p.group != g {
		p.adopt(g)
	}
	c := &p.choice
	c.full = false
	if c.tried.n = r.Tried.n; c.tried.n > 0 {
		c.tried = r.Tried
	}
	if g.hashes {
		c.hash = g.hashClient(r.ClientAddr)
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

// Take counts a connection in the Load of one server of g, which the caller gives back, if Pick might pick that server
// for the request. It reports whether it did, and otherwise whether the server is only full.
func (p *Picker) Take(g *Group, index int, r *Request) (taken, full bool) {
	m := &g.members[index]
	if !m.live || r.Tried.Len() > 0 && (g.panic && !m.healthy || r.Tried.has(m.id)) {
		return false, false
	}
	taken = m.load.Take()
	return taken, !taken
}

// adopt prepares for a new group.
func (p *Picker) adopt(g *Group) {
	if g.policy.adopt != nil {
		g.policy.adopt(p, g)
	}
	p.mean = mean{}
	p.group = g
	p.choice = choice{p: p, g: g}
}

// none stands for the index of no server.
const none = -1

// choice is a Pick under way.
type choice struct {
	p       *Picker
	g       *Group
	tried   Set
	hash    uint64  // of the client, for the policies that hash
	healthy bool    // take only healthy servers although the group is in panic
	full    bool    // a suitable server is full
	bound   float64 // limit of connections per weight; 0 for none
}

// anySet takes a server of the set drawn by the shares, or else of the first set that has one. A full server is not
// passed over for one of a lower priority without a share: its connection waits.
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

// lastResort takes an ejected server, drawn by weight: an attempt is better than none.
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

// drawSet draws a set by the shares. If the policy hashes, a client always gets the same one.
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
	return last // rounding error of the sum
}

// take picks a server of a set and counts the connection.
func (c *choice) take(index int) int32 {
	s := &c.g.sets[index]
	if len(s.live) == 0 {
		return none
	}
	for {
		i := c.pick(s)
		if i == none || c.g.members[i].load.Take() {
			return i
		}
		// Another loop took the last place. The next pick skips the server unless a place is free again.
		c.full = true
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

// below returns a random number from 0 to n-1.
func (p *Picker) below(n int64) int64 {
	high, _ := bits.Mul64(p.random.Uint64(), uint64(n))
	return int64(high)
}

// unit returns a number from [0, 1): random, or derived from the client's address if the policy hashes.
func (c *choice) unit() float64 {
	if c.g.hashes {
		return toUnit(mix(^c.hash))
	}
	return c.p.fraction()
}

// fraction returns a random number from [0, 1).
func (p *Picker) fraction() float64 { return toUnit(p.random.Uint64()) }

func toUnit(u uint64) float64 { return float64(u>>11) / (1 << 53) }
