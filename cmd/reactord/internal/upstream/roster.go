package upstream

import (
	"cmp"
	"os"
	"slices"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/balance"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// roster is the order in which this process checks the servers of a backend, if it does not check all of them. With a
// fleet of processes, a server is checked by few, and the order is the one of balance's subsets: those that are used
// come first. It does not change.
type roster struct {
	sets [][]int32 // indexes of the servers in the order of this process, for each set of balance
	most int       // how many of a set are checked, not counting those that are not up
}

// newRoster is the roster of a backend. nil: all servers are checked.
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

// checked is how many servers of each set are checked; 0: all. Those that would replace a member of the subset are
// checked before they do.
func checked(s *config.Backend) int {
	if s.Check.Subset > 0 {
		return s.Check.Subset
	}
	return s.Balance.Subset + (s.Balance.Subset+1)/2
}

// walk visits all servers in order. first is whether the server is one of the first; visit returns whether it counts as
// one.
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

// checkServers begins and ends the checks of servers, as the plan, their states and the roster say. A server that is
// not checked is up as far as checks are concerned, once those that are checked do not wait for their first check. So
// one that is down is checked until it is up, and one that is not used any more for as long as its connections are to
// be closed when it goes down.
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
		st := s.standing.Load()
		s.check(first || st.says[voiceCheck] == Down || closes && s.Load.N() > 0)
		state := s.State()
		waiting = waiting || state == Waiting && s.checking.monitor != nil
		return (state == Up || state == Waiting) && st.weight(m.plan.Servers[i].Weight) > 0
	})
	if waiting {
		return // those that are not checked may have to be
	}
	for _, s := range m.servers {
		if s.checking.monitor == nil && s.State() == Waiting {
			s.hear(voiceCheck, Up, "")
		}
	}
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return name
})

// subsetKey is what tells this process from others.
func subsetKey(s *config.Balance) string { return cmp.Or(s.SubsetKey, hostname()) }
