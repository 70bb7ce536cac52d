package balance

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// set is the servers of one priority, either in the preferred locality or elsewhere.
type set struct {
	priority int
	other    bool    // outside the preferred locality
	place    int     // index in the group's sets
	weighted []int32 // members with a weight
	share    float64 // share of the connections; all shares sum up to 1, or to 0 if no server is usable
	live     []int32 // members that may be picked
	sums     []int64 // cumulative weights of live
	total    int64   // the last of sums
	even     bool    // all weights of live are equal
	inverse  float64 // 1/total
	table    *lookup // for maglev, or nil
	base     []int32 // members of table
	backup   bool    // of backup servers
	idle     bool    // of backups that no connection gets, because another server is usable
}

// overprovision is how much more than its healthy part a set can carry. With 1/overprovision of its weight healthy, a
// set still gets its full share; only below that do connections spill over to the next set.
const overprovision = 1.4

// arrange divides the members into sets.
func (g *Group) arrange(s *config.Balance, servers []Server) {
	type place struct {
		priority int
		other    bool
	}
	at := map[place]int{}
	for i := range servers {
		if g.members[i].weight <= 0 {
			continue
		}
		p := place{servers[i].Priority, s.Locality != "" && servers[i].Locality != s.Locality}
		if servers[i].Backup {
			p.priority = math.MaxInt
		}
		k, ok := at[p]
		if !ok {
			k = len(g.sets)
			at[p] = k
			g.sets = append(g.sets, set{priority: p.priority, other: p.other, backup: servers[i].Backup})
		}
		g.sets[k].weighted = append(g.sets[k].weighted, int32(i))
	}
	slices.SortFunc(g.sets, func(a, b set) int {
		if c := cmp.Compare(a.priority, b.priority); c != 0 || a.other == b.other {
			return c
		}
		if a.other {
			return 1
		}
		return -1
	})
	for k := range g.sets {
		g.sets[k].place = k
	}
}

// capacity returns the part of the connections that the servers for which use holds can carry, up to 1.
func (g *Group) capacity(s *set, use func(*member) bool) float64 {
	used, all := 0.0, 0.0
	for _, i := range s.weighted {
		m := &g.members[i]
		all += float64(m.weight)
		if use(m) {
			used += float64(m.weight)
		}
	}
	return min(1, overprovision*used/all)
}

// usable reports whether a member would be used, weight and subset aside.
func (g *Group) usable(m *member) bool { return m.healthy || g.panic && !m.waiting && !m.out }

// promising reports whether a member is healthy or may turn out to be.
func promising(m *member) bool { return m.healthy || m.waiting }

// inPlay returns the sets that may get connections: all, or, if backups are the last resort, those of the other servers
// as long as use holds for any of these.
func (g *Group) inPlay(use func(*member) bool) []set {
	last := slices.IndexFunc(g.sets, func(s set) bool { return s.backup })
	if !g.lastResortBackups || last < 0 {
		return g.sets
	}
	for _, s := range g.sets[:last] {
		if slices.ContainsFunc(s.weighted, func(i int32) bool { return use(&g.members[i]) }) {
			return g.sets[:last]
		}
	}
	return g.sets
}

// panics reports whether to ignore health: the healthy servers cannot carry everything, and are fewer than the
// threshold in per cent, even if all waiting ones turn out to be healthy.
func (g *Group) panics(threshold int) bool {
	capacity := 0.0
	healthy, all := 0, 0
	sets := g.inPlay(promising)
	for i := range sets {
		capacity += g.capacity(&sets[i], promising)
		all += len(sets[i].weighted)
		for _, k := range sets[i].weighted {
			if promising(&g.members[k]) {
				healthy++
			}
		}
	}
	return capacity < 1 && healthy*100 < threshold*all
}

// share gives each set in order what it can carry, until everything is distributed. If they cannot carry it all, each
// gets its proportion.
func (g *Group) share() {
	sum := 0.0
	sets := g.inPlay(g.usable)
	for i := range g.sets[len(sets):] {
		g.sets[len(sets)+i].idle = true
	}
	for i := range sets {
		sum += g.capacity(&sets[i], g.usable)
	}
	left := 1.0
	for i := range sets {
		s := &sets[i]
		if c := g.capacity(s, g.usable); c > 0 && left > 1e-9 {
			s.share = min(left, c/min(1, sum))
			g.active = s.priority
		}
		left -= s.share
	}
}

func (g *Group) eligible(s *set) []int32 {
	live := make([]int32, 0, len(s.weighted))
	if s.idle {
		return live
	}
	for _, i := range s.weighted {
		if g.usable(&g.members[i]) {
			live = append(live, i)
		}
	}
	return live
}

func (g *Group) accumulate(s *set) {
	s.even = true
	s.sums = make([]int64, len(s.live))
	for k, i := range s.live {
		m := &g.members[i]
		m.live = true
		s.total += m.weight
		s.sums[k] = s.total
		s.even = s.even && m.weight == g.members[s.live[0]].weight
	}
	if s.total > 0 {
		s.inverse = 1 / float64(s.total)
	}
}

// at returns the position in live of the server whose interval contains point, where intervals are as long as
// weights.
func (s *set) at(point int64) int {
	if s.even {
		return int(point / s.sums[0])
	}
	return sort.Search(len(s.sums), func(k int) bool { return s.sums[k] > point })
}
