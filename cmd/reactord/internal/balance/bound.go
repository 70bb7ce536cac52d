package balance

import "math"

// Bounded load: no server gets more than a multiple of the average number of connections for its weight. Source:
// Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016.

// limit is how many connections a member may have.
func (c *choice) limit(m *member) float64 { return math.Ceil(c.bound * float64(m.weight)) }

// mean is the average number of connections for one of weight. To sum up the loads of many servers for each connection
// would be slow: the sum is made once for as many connections as there are servers in meanShare of the set.
type mean struct {
	group *Group
	set   *set
	left  int // how many more connections it serves
	sum   int
}

const meanShare = 16

func (a *mean) of(g *Group, s *set) float64 {
	if a.group != g || a.set != s || a.left == 0 {
		*a = mean{group: g, set: s, left: len(s.live)/meanShare + 1}
		for _, i := range s.live {
			a.sum += g.members[i].load.N()
		}
	}
	a.left--
	average := float64(a.sum) * s.inverse
	a.sum++
	return average
}
