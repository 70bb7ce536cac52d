package balance

import (
	"cmp"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// subset returns the n members of live that come first in the order of this process. The place of a server in that
// order depends on no other, so when one comes or goes, at most one member changes. Weights matter only in the choice
// from the subset.
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

// Ranks returns the ranks of servers for the process with the key: its subset of n servers is the n with the lowest
// ranks.
func Ranks(key string) func(server serveraddr.Addr) uint64 {
	h := hashString(key)
	return func(server serveraddr.Addr) uint64 { return mix(h ^ hashServer(server)) }
}
