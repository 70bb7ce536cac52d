package upstream

import (
	"cmp"
	"os"
	"slices"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// roster is the order in which this process checks the servers of a backend, if it does not check all of them, so
// that each server is checked by few processes of a fleet. The order is that of balance's subsets: servers in use
// come first. It is immutable.
type roster struct {
	sets [][]int32 // server indexes in the order of this process, for each set of balance
	most int       // servers of a set to check, not counting those that are not up
}

// newRoster returns the roster of a backend, or nil if all servers are checked.
func newRoster(b *plan.Backend) *roster {
	s := b.Settings
	most := checked(s)
	if most == 0 || s.Check.Interval == 0 && s.Agent.Port == 0 {
		return nil
	}
	type set struct {
		priority int
		other    bool
	}
	r, at := &roster{most: most}, map[set]int{}
	rank := balance.Ranks(subsetKey(&s.Balance))
	ranks := make([]uint64, len(b.Servers))
	for i := range b.Servers {
		p := &b.Servers[i]
		ranks[i] = rank(p.Address)
		of := set{priority(p), s.Balance.Locality != "" && p.Locality != s.Balance.Locality}
		k, known := at[of]
		if !known {
			k = len(r.sets)
			at[of], r.sets = k, append(r.sets, nil)
		}
		r.sets[k] = append(r.sets[k], int32(i))
	}
	for _, set := range r.sets {
		slices.SortFunc(set, func(a, b int32) int { return cmp.Compare(ranks[a], ranks[b]) })
	}
	return r
}

// checked returns how many servers of each set are checked, or 0 for all. Servers that would replace a member of the
// subset are checked before they do.
func checked(s *config.Backend) int {
	if s.Check.Subset > 0 {
		return s.Check.Subset
	}
	return s.Balance.Subset + (s.Balance.Subset+1)/2
}

// walk visits all servers in order. first tells whether the server is among the first; visit returns whether it
// counts as one of them.
func (r *roster) walk(visit func(i int32, first bool) (counts bool)) {
	for _, set := range r.sets {
		left := r.most
		for _, i := range set {
			if visit(i, left > 0) && left > 0 {
				left--
			}
		}
	}
}

// checkServers starts and stops checks, as the plan, the servers' states and the roster say. An unchecked server
// counts as up, once none of the checked ones waits for its first check. So a server that is down is checked until it
// is up, and one that is no longer used as long as its connections would be closed when it goes down.
func (b *Backend) checkServers() {
	m := b.member
	if m.roster == nil {
		for _, s := range m.servers {
			s.check(true)
		}
		return
	}
	settings, waiting := m.plan.Settings, false
	closes := settings.Check.CloseOnDown && settings.Balance.Subset > 0
	m.roster.walk(func(i int32, first bool) bool {
		s := m.servers[i]
		st := s.status.Load()
		s.check(first || st.states[signalCheck] == Down || closes && s.Load.N() > 0)
		state := s.State()
		waiting = waiting || state == Waiting && s.checking.monitor != nil
		return (state == Up || state == Waiting) && st.weight(m.plan.Servers[i].Weight) > 0
	})
	if waiting {
		return // unchecked servers may still become due
	}
	for _, s := range m.servers {
		if s.checking.monitor == nil && s.State() == Waiting {
			s.report(signalCheck, Up, "")
		}
	}
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return name
})

// subsetKey returns what distinguishes this process from others.
func subsetKey(s *config.Balance) string { return cmp.Or(s.SubsetKey, hostname()) }
