package balance

import "math"

// Bounded load limits each server to a multiple of the average number of connections for its weight. Source:
// Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016.

// pick chooses by the policy, within the load factor if that leaves a server.
func (c *choice) pick(s *set) int32 {
	if c.g.loadFactor > 0 {
		c.bound = c.g.loadFactor * (c.p.mean.of(c.g, s.place) + s.inverse)
		i := c.g.policy.pick(c, s)
		c.bound = 0
		if i != none {
			return i
		}
	}
	return c.g.policy.pick(c, s)
}

// limit returns how many connections a member may have.
func (c *choice) limit(m *member) float64 { return math.Ceil(c.bound * float64(m.weight)) }

// mean is the average number of connections per weight, in a set of the Picker's group. Summing up the loads of many
// servers for each connection would be slow, so a sum serves as many connections as there are servers, divided by
// meanShare.
type mean struct {
	set  int
	left int // connections that it may still serve
	sum  int
}

const meanShare = 16

func (a *mean) of(g *Group, index int) float64 {
	s := &g.sets[index]
	if a.set != index || a.left == 0 {
		*a = mean{set: index, left: len(s.live)/meanShare + 1}
		for _, i := range s.live {
			a.sum += g.members[i].load.N()
		}
	}
	a.left--
	average := float64(a.sum) * s.inverse
	a.sum++
	return average
}
