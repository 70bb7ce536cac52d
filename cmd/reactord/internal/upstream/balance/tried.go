package balance

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// triedMax is the number of servers that a [Set] remembers.
const triedMax = 8

// Set is the servers that a connection has tried in vain. It stores keys, so that it remains valid when the group is
// replaced between two attempts. It remembers the last 8. The zero Set is empty.
type Set struct {
	n   int // number of additions
	ids [triedMax]uint64
}

// Add adds a server.
func (s *Set) Add(key serveraddr.Addr) {
	s.ids[s.n%triedMax] = hashServer(key)
	s.n++
}

// Len returns the number of servers added.
func (s *Set) Len() int { return s.n }

// Clear empties the set.
func (s *Set) Clear() { s.n = 0 }

func (s *Set) has(id uint64) bool {
	return slices.Contains(s.ids[:min(s.n, triedMax)], id)
}
