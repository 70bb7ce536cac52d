package proxy

import (
	"fmt"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/netset"
)

// addressSet is the networks of a setting: those that are written, and those of live sets. It does not change, but for
// the contents of the live sets. A nil addressSet is of a setting that is not written.
type addressSet struct {
	fixed *netset.Set
	live  []*sets.Set
}

// networks returns the set of the networks of a setting, or nil for none.
func networks(all []config.Prefix, in *sets.Directory) *addressSet {
	if len(all) == 0 {
		return nil
	}
	s := &addressSet{}
	var fixed []netip.Prefix
	for _, p := range all {
		if p.Set != "" {
			s.live = append(s.live, in.Set(p.Set))
		} else {
			fixed = append(fixed, p.Prefix)
		}
	}
	s.fixed = netset.New(fixed)
	return s
}

// Contains reports whether an address is in one of the networks.
func (s *addressSet) Contains(ip netip.Addr) bool {
	if s.fixed.Contains(ip) {
		return true
	}
	for _, live := range s.live {
		if live.Contains(ip) {
			return true
		}
	}
	return false
}

// describe says for people in which network an address is.
func (s *addressSet) describe(ip netip.Addr) string {
	if !s.fixed.Contains(ip) {
		for _, live := range s.live {
			if m, in := live.Match(ip); in {
				return describeMatch(m)
			}
		}
	}
	return "one of the networks"
}

func describeMatch(m sets.Match) string {
	return fmt.Sprintf("%s of set %s (%s)", m.Entry, m.Set, m.Origin)
}

// liveSet returns the name of the live set that has an address, or "".
func (s *addressSet) liveSet(ip netip.Addr) string {
	if s == nil || s.fixed.Contains(ip) {
		return ""
	}
	for _, live := range s.live {
		if live.Contains(ip) {
			return live.Name()
		}
	}
	return ""
}
