package balance

import (
	"cmp"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// subset is the n of live that come first in the order of this process. Each server has its place in that order by
// itself, so when one comes or goes, at most one member of the subset changes. Weights do not matter here: they matter
// in the choice from the subset.
func (g *Group) subset(live []int32, n int, key string) []int32 {
	h := hashString(key)
	order := slices.Clone(live)
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Compare(mix(h^g.members[a].id), mix(h^g.members[b].id))
	})
	order = order[:n]
	slices.Sort(order)
	return order
}

// Ranks is the place of servers in the order of the process that the key tells from others: its subset of n servers is
// the n with the least ranks.
func Ranks(key string) func(server serveraddr.Addr) uint64 {
	h := hashString(key)
	return func(server serveraddr.Addr) uint64 { return mix(h ^ hashServer(server)) }
}
