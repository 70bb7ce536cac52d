package balance

import (
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// triedMax is how many servers a [Set] remembers.
const triedMax = 8

// Set is the servers that a connection has tried in vain. It refers to them by their keys, so that it stays right when
// the group is replaced between two attempts. It remembers the last 8. The zero Set is empty.
type Set struct {
	n   int // how many were added
	ids [triedMax]uint64
}

// Add adds a server.
func (s *Set) Add(key serveraddr.Addr) {
	s.ids[s.n%triedMax] = hashServer(key)
	s.n++
}

// Len is how many servers were added.
func (s *Set) Len() int { return s.n }

// Clear makes the set empty.
func (s *Set) Clear() { s.n = 0 }

func (s *Set) has(id uint64) bool {
	return slices.Contains(s.ids[:min(s.n, triedMax)], id)
}
