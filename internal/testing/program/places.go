package program

import (
	"net/netip"

	"github.com/reactord/reactord/reactor"
)

// places puts the connections of a crossing on loops, and judges whether those are what the policy says.
type places struct {
	*crossing
	policy     reactor.BalancePolicy
	seats      []*reactor.Loop
	placement  *reactor.Balancer
	placing    int                      // how many loops are placing one
	changes    int                      // of the counts
	last       int                      // the seat of the last connection
	key        uint64                   // its hash
	byKey      map[uint64]*reactor.Loop // where what has a hash went
	onTheirWay map[int]*reactor.Loop    // by descriptor
}

func newPlaces(c *crossing) *places {
	rng := c.k.Rand()
	p := &places{crossing: c, policy: reactor.BalancePolicy(rng.IntN(4)), last: -1, byKey: map[uint64]*reactor.Loop{}, onTheirWay: map[int]*reactor.Loop{}}
	p.seats = c.loops[rng.IntN(len(c.loops)):]
	cfg := reactor.BalancerConfig{Loops: p.seats, Policy: p.policy, Take: p.take}
	cfg.Hash = func(peer netip.AddrPort) uint64 {
		p.key = uint64(peer.Port() % 4)
		return p.key
	}
	placement, err := reactor.NewBalancer(cfg)
	if err != nil {
		c.k.Errorf("placement: %v", err)
	}
	p.placement = placement
	return p
}

// place has a connection placed that a loop has accepted.
func (p *places) place(from *reactor.Loop, fd int) {
	p.changes++
	p.placing++
	alone, changes := p.placing == 1, p.changes
	before := p.counts()
	p.key = 0 // of what is reset already
	p.onTheirWay[fd] = from
	p.placement.Assign(from, fd)
	after := p.counts()
	if p.placing--; !alone || p.changes != changes { // other loops have assigned or released connections meanwhile
		p.last = -1
		return
	}
	chosen := -1
	for i, n := range after {
		switch {
		case n == before[i]:
		case n != before[i]+1 || chosen >= 0:
			p.k.Errorf("one connection was placed, and there are %v instead of %v", after, before)
		default:
			chosen = i
		}
	}
	p.judge(from, before, chosen)
	p.last = chosen
}

// counts are how many connections each seat has.
func (p *places) counts() (n []int64) {
	for _, l := range p.seats {
		n = append(n, p.placement.Connections(l))
	}
	return n
}

// runs reports whether a target's loop has not been asked to stop.
func (p *places) runs(seat int) bool { return !p.stopping[p.index(p.seats[seat])] }

// judge asserts that the target that was chosen is what the policy says. A loop that has been asked to stop may be
// chosen or not.
func (p *places) judge(from *reactor.Loop, before []int64, chosen int) {
	steady := true
	for i, n := range before {
		steady = steady && p.runs(i)
		switch {
		case !p.runs(i):
		case chosen < 0:
			p.k.Errorf("a connection was not placed although loop %d runs", i)
			return
		case p.policy == reactor.LeastConnections && n < before[chosen]:
			p.k.Errorf("a connection was placed where there were %d, and not where there were %d", before[chosen], n)
		}
	}
	if chosen < 0 {
		return
	}
	at := p.seats[chosen]
	switch seated := p.index(from) >= p.index(p.seats[0]); {
	case p.policy == reactor.KeepLocal && seated && at != from:
		p.k.Errorf("a connection did not stay where it was accepted")
	case p.policy == reactor.RoundRobin && steady && p.last >= 0 && chosen != (p.last+1)%len(p.seats):
		p.k.Errorf("a connection was placed on seat %d, behind one on seat %d", chosen, p.last)
	case p.policy == reactor.ByHash:
		if was := p.byKey[p.key]; was != nil && was != at && !p.stopping[p.index(was)] {
			p.k.Errorf("what has hash %d does not go to one loop", p.key)
		}
		p.byKey[p.key] = at
	}
}

// take makes the connection one that echoes.
func (p *places) take(l *reactor.Loop, fd int) {
	p.on(l, "a connection that was placed")
	if p.onTheirWay[fd] == nil {
		p.k.Errorf("descriptor %d is taken, and was not placed", fd)
	}
	delete(p.onTheirWay, fd)
	newStream(p.crossing, l, fd)
}
