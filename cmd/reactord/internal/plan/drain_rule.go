package plan

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// DrainRule drains the servers of a location or of a network, also those that come later. It does not apply to a server
// whose state an operator has set by itself.
type DrainRule struct {
	Backend  string       // "": all
	Locality string       // "": any
	Network  netip.Prefix // not valid: any
}

// Check returns an error if r does not say which servers it drains.
func (r DrainRule) Check() error {
	switch {
	case r.Locality == "" && !r.Network.IsValid():
		return errors.New("a drain of servers needs a locality or a network")
	case r.Network != r.Network.Masked():
		return fmt.Errorf("network %s has bits behind its prefix: write %s", r.Network, r.Network.Masked())
	case len(r.Locality) > maxName:
		return fmt.Errorf("locality of more than %d bytes", maxName)
	}
	return nil
}

// Matches reports whether r drains a server of a backend.
func (r DrainRule) Matches(backend string, s *Server) bool {
	return (r.Backend == "" || r.Backend == backend) && (r.Locality == "" || r.Locality == s.Locality) &&
		(!r.Network.IsValid() || !s.Address.IsUnix() && r.Network.Contains(s.Address.IP().Unmap()))
}

// String returns which servers r drains, for people: "locality eu-1a, network 10.2.0.0/16, backend app".
func (r DrainRule) String() string {
	var parts []string
	if r.Locality != "" {
		parts = append(parts, "locality "+r.Locality)
	}
	if r.Network.IsValid() {
		parts = append(parts, "network "+r.Network.String())
	}
	if r.Backend != "" {
		parts = append(parts, "backend "+r.Backend)
	}
	return strings.Join(parts, ", ")
}

// CompareDrainRules orders rules by their texts.
func CompareDrainRules(a, b DrainRule) int { return cmp.Compare(a.String(), b.String()) }

// standingRule is a rule with who has set it.
type standingRule struct {
	DrainRule
	Stamp
}

// drainRules are rules in an order that does not depend on that of a map.
type drainRules []standingRule

func sortDrainRules(all map[DrainRule]Stamp) (rules drainRules) {
	for r, stamp := range all {
		rules = append(rules, standingRule{r, stamp})
	}
	slices.SortFunc(rules, func(a, b standingRule) int { return CompareDrainRules(a.DrainRule, b.DrainRule) })
	return rules
}

// apply drains a server if a rule says so.
func (all drainRules) apply(backend string, s *Server) {
	if s.State != Up {
		return
	}
	for i := range all {
		if r := &all[i]; r.Matches(backend, s) {
			s.State, s.Reason = Drain, fmt.Sprintf("drained with %s by %s", r.DrainRule, r.who())
			return
		}
	}
}
