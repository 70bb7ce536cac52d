package balance

import (
	"cmp"
	"math"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// MaxWeight is the largest weight that has an effect of its own. More counts as this.
const MaxWeight = 1 << 30

// Server is a server of a group, as it is now.
type Server struct {
	Key      serveraddr.Addr
	Weight   int    // in relation to the others, in any unit; 0: it gets no new connections
	Priority int    // lower ones first
	Backup   bool   // its priority is the last
	Locality string // see config.Balance.Locality
	Healthy  bool
	Ejected  bool  // it is not healthy because connects to it have failed: it is picked if nothing else is left
	Waiting  bool  // whether it is healthy is not known yet; it is not Healthy
	Load     *Load // its connections, of all loops. Nil: it is counted by the group alone, without a limit
}

// Group is the servers of a backend and what is computed from them once. It is immutable, except for the loads that it
// refers to: any number of Pickers may use it from any threads.
type Group struct {
	policy                 policy
	members                []member // as the servers that it was made from
	sets                   []set    // in the order of preference
	active                 int      // the last priority that has a share
	panic                  bool
	waiting                bool // one of the members is
	loadFactor             float64
	ipv4Prefix, ipv6Prefix int
	byID                   []int32 // the members in the order of their ids, for round robin
	total                  int64   // of the weights, for round robin
	ejected                []int32 // the members that are picked if nothing else is left
}

type policy uint8

const (
	p2c policy = iota
	roundRobin
	random
	leastConnections
	sourceHash
	maglev
)

var policies = map[string]policy{
	"p2c": p2c, "round_robin": roundRobin, "random": random, "least_connections": leastConnections,
	"source_hash": sourceHash, "maglev": maglev,
}

func (p policy) hashes() bool { return p == sourceHash || p == maglev }

// member is what Pick needs of a server.
type member struct {
	id      uint64
	load    *Load
	weight  int64
	inverse float64 // of weight
	healthy bool
	waiting bool
	live    bool // it may be picked
}

// NewGroup computes a group. It takes about 1 ms for 5 000 servers, and a few more for each table of maglev.
// It keeps neither s nor servers. An unknown policy panics.
func NewGroup(s *config.Balance, servers []Server) *Group { return (*Group)(nil).Renew(s, servers) }

// Renew is NewGroup for what the backend of g has become. It takes over the tables of g that are still right: health
// does not change them. g may be nil, and stays as it is.
func (g *Group) Renew(s *config.Balance, servers []Server) *Group {
	next := &Group{
		members:    make([]member, len(servers)),
		loadFactor: float64(s.LoadFactor) / 100,
		ipv4Prefix: cmp.Or(s.IPv4Prefix, 32),
		ipv6Prefix: cmp.Or(s.IPv6Prefix, 128),
	}
	if s.Policy != "" {
		p, ok := policies[s.Policy]
		if !ok {
			panic("balance: unknown policy " + s.Policy)
		}
		next.policy = p
	}
	for i := range servers {
		m := newMember(&servers[i])
		next.waiting = next.waiting || m.waiting && m.weight > 0
		next.members[i] = m
	}
	next.arrange(s, servers)
	next.panic = next.panics(s.PanicThreshold)
	next.share()
	for i := range next.sets {
		set := &next.sets[i]
		set.base = set.weighted
		set.live = next.eligible(set)
		if s.Subset > 0 && len(set.live) > s.Subset {
			set.live = next.subset(set.live, s.Subset, s.SubsetKey)
			set.base = set.live
		}
		next.accumulate(set)
		if next.policy == maglev && len(set.base) > 1 && len(set.base) <= math.MaxUint16 {
			set.table = g.tableFor(next, set.base)
		}
	}
	for i := range servers {
		if m := &next.members[i]; servers[i].Ejected && m.weight > 0 && !m.live {
			next.ejected = append(next.ejected, int32(i))
		}
	}
	if next.policy == roundRobin {
		next.byID = make([]int32, len(servers))
		for i := range next.byID {
			next.byID[i] = int32(i)
			next.total += max(next.members[i].weight, 0)
		}
		slices.SortFunc(next.byID, func(a, b int32) int { return cmp.Compare(next.members[a].id, next.members[b].id) })
	}
	return next
}

func newMember(s *Server) member {
	m := member{id: hashServer(s.Key), load: s.Load, weight: int64(min(s.Weight, MaxWeight))}
	m.healthy, m.waiting = s.Healthy, s.Waiting && !s.Healthy
	if m.load == nil {
		m.load = new(Load)
	}
	if m.weight > 0 {
		m.inverse = 1 / float64(m.weight)
	}
	return m
}

// Len is how many servers the group was made from.
func (g *Group) Len() int { return len(g.members) }

// Panic reports whether health is ignored, because too few servers are healthy.
func (g *Group) Panic() bool { return g.panic }

// HasUntried reports whether a server may be picked that is not in tried, whether it is full or not, or may be when its
// first check has passed.
func (g *Group) HasUntried(tried *Set) bool {
	for i := range g.members {
		if m := &g.members[i]; (m.live || m.waiting && m.weight > 0) && !tried.has(m.id) {
			return true
		}
	}
	for _, i := range g.ejected {
		if !tried.has(g.members[i].id) {
			return true
		}
	}
	return false
}

// InUse reports whether the server may be picked at all: it has a weight, is healthy or the group is in panic and it
// does not wait, and is in the subset.
func (g *Group) InUse(index int) bool { return g.members[index].live }
