package program

import (
	"net/netip"

	"github.com/reactord/reactord/reactor"
)

// balancing assigns the connections of a cluster to loops, and asserts that the policy is kept.
type balancing struct {
	*cluster
	policy    reactor.BalancePolicy
	targets   []*reactor.Loop
	balancer  *reactor.Balancer
	assigning int                      // how many loops are in Assign
	changes   int                      // of the counts
	last      int                      // the target of the last assignment
	key       uint64                   // its hash
	byKey     map[uint64]*reactor.Loop // where connections with a hash were assigned
	assigned  map[int]*reactor.Loop    // by descriptor
}

func newBalancing(c *cluster) *balancing {
	rng := c.k.Rand()
	p := &balancing{
		cluster: c, policy: reactor.BalancePolicy(rng.IntN(4)), last: -1,
		byKey: map[uint64]*reactor.Loop{}, assigned: map[int]*reactor.Loop{},
	}
	p.targets = c.loops[rng.IntN(len(c.loops)):]
	cfg := reactor.BalancerConfig{Loops: p.targets, Policy: p.policy, Take: p.take}
	cfg.Hash = func(peer netip.AddrPort) uint64 {
		p.key = uint64(peer.Port() % 4)
		return p.key
	}
	balancer, err := reactor.NewBalancer(cfg)
	if err != nil {
		c.k.Errorf("balancer: %v", err)
	}
	p.balancer = balancer
	return p
}

// assign lets the Balancer assign a connection that a loop has accepted.
func (p *balancing) assign(from *reactor.Loop, fd int) {
	p.changes++
	p.assigning++
	alone, changes := p.assigning == 1, p.changes
	before := p.counts()
	p.key = 0 // of what is reset already
	p.assigned[fd] = from
	p.balancer.Assign(from, fd)
	after := p.counts()
	if p.assigning--; !alone || p.changes != changes { // other loops have assigned or released connections meanwhile
		p.last = -1
		return
	}
	chosen := -1
	for i, n := range after {
		switch {
		case n == before[i]:
		case n != before[i]+1 || chosen >= 0:
			p.k.Errorf("one connection was assigned, and there are %v instead of %v", after, before)
		default:
			chosen = i
		}
	}
	p.judge(from, before, chosen)
	p.last = chosen
}

// counts returns how many connections each target has.
func (p *balancing) counts() (n []int64) {
	for _, l := range p.targets {
		n = append(n, p.balancer.Connections(l))
	}
	return n
}

// runs reports whether a target's loop has not been asked to stop.
func (p *balancing) runs(target int) bool { return !p.stopping[p.index(p.targets[target])] }

// judge asserts that the target that was chosen is what the policy says. A loop that has been asked to stop may be
// chosen or not.
func (p *balancing) judge(from *reactor.Loop, before []int64, chosen int) {
	steady := true
	for i, n := range before {
		steady = steady && p.runs(i)
		switch {
		case !p.runs(i):
		case chosen < 0:
			p.k.Errorf("a connection was not assigned although loop %d runs", i)
			return
		case p.policy == reactor.LeastConnections && n < before[chosen]:
			p.k.Errorf("a connection was assigned where there were %d, and not where there were %d", before[chosen], n)
		}
	}
	if chosen < 0 {
		return
	}
	at := p.targets[chosen]
	switch isTarget := p.index(from) >= p.index(p.targets[0]); {
	case p.policy == reactor.KeepLocal && isTarget && at != from:
		p.k.Errorf("a connection did not stay where it was accepted")
	case p.policy == reactor.RoundRobin && steady && p.last >= 0 && chosen != (p.last+1)%len(p.targets):
		p.k.Errorf("a connection was assigned to target %d, behind one on target %d", chosen, p.last)
	case p.policy == reactor.ByHash:
		if was := p.byKey[p.key]; was != nil && was != at && !p.stopping[p.index(was)] {
			p.k.Errorf("connections with hash %d are assigned to several loops", p.key)
		}
		p.byKey[p.key] = at
	}
}

// take makes an echo connection of a descriptor.
func (p *balancing) take(l *reactor.Loop, fd int) {
	p.on(l, "a connection that was assigned")
	if p.assigned[fd] == nil {
		p.k.Errorf("descriptor %d is taken, and was not assigned", fd)
	}
	delete(p.assigned, fd)
	newStream(p.cluster, l, fd)
}
