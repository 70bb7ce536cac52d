package translate

import (
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// greatestWeight is the largest weight of a server.
const greatestWeight = 1000

// weights returns the weights of all endpoints as servers: 0 to 1000, proportional to their shares in each priority.
//
// If localities of a priority have weights, an endpoint's share is its part of its locality's weight; a locality
// without a weight gets nothing. As in Envoy, a locality gets less if fewer than 1/1.4 of its endpoints are up, and
// its share is for those. Otherwise, the share is the endpoint's weight. Equal shares become weights of 1, and small
// ones stay as they are. Others are scaled such that the largest is 1000, and rounded, but not to 0.
func (e *Endpoints) weights(localities bool) []int {
	shares := e.shares(localities)
	type extent struct {
		least, greatest float64
		whole           bool
	}
	byPriority := map[int]*extent{}
	for i, share := range shares {
		if share == 0 {
			continue
		}
		p := byPriority[e.all[i].priority]
		if p == nil {
			p = &extent{least: share, whole: true}
			byPriority[e.all[i].priority] = p
		}
		p.least, p.greatest = min(p.least, share), max(p.greatest, share)
		p.whole = p.whole && share == math.Trunc(share)
	}
	out := make([]int, len(shares))
	for i, share := range shares {
		switch p := byPriority[e.all[i].priority]; {
		case share == 0:
		case p.greatest-p.least <= p.greatest*1e-9:
			out[i] = 1
		case p.whole && p.greatest <= greatestWeight:
			out[i] = int(share)
		default:
			out[i] = max(1, int(math.Round(share*greatestWeight/p.greatest)))
		}
	}
	return out
}

// overprovisioning is how much more than its part a locality can carry.
const overprovisioning = 1.4

// shares returns the shares of endpoints, relative to others of their priority.
func (e *Endpoints) shares(localities bool) []float64 {
	type locality struct{ all, up, weights, upWeights float64 }
	groups, weighted := map[int]*locality{}, map[int]bool{} // by group, by priority
	for i := range e.all {
		s := &e.all[i]
		g := groups[s.group]
		if g == nil {
			g = new(locality)
			groups[s.group] = g
		}
		g.all++
		g.weights += float64(s.weight)
		if s.state == plan.Up {
			g.up++
			g.upWeights += float64(s.weight)
		}
		weighted[s.priority] = weighted[s.priority] || localities && s.localityWeight > 0
	}
	shares := make([]float64, len(e.all))
	for i := range e.all {
		s := &e.all[i]
		g := groups[s.group]
		switch shares[i] = float64(s.weight); {
		case !weighted[s.priority] || g.weights == 0:
		case s.state == plan.Up && g.upWeights > 0:
			shares[i] *= float64(s.localityWeight) * min(1, overprovisioning*g.up/g.all) / g.upWeights
		default:
			shares[i] *= float64(s.localityWeight) / g.weights
		}
	}
	return shares
}
