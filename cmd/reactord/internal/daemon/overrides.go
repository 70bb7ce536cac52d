package daemon

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// overridesRecord is what operators have set of servers, as a process hands it over and as overrides_file has it. The
// reader may be an older or a newer version: fields are only ever added.
type overridesRecord struct {
	Overrides []overrideRecord  `json:"overrides,omitempty"`
	Drains    []drainRuleRecord `json:"drains,omitempty"`
}

// overrideRecord is an override of a server.
type overrideRecord struct {
	Backend string          `json:"backend"`
	Server  serveraddr.Addr `json:"server"`
	Name    string          `json:"name,omitempty"`
	By      string          `json:"by,omitempty"`
	Since   time.Time       `json:"since,omitzero"`

	Added   *addedRecord `json:"added,omitempty"`
	Removed bool         `json:"removed,omitempty"`

	State          *plan.State `json:"state,omitempty"`
	Weight         *int        `json:"weight,omitempty"`
	MaxConnections *int        `json:"max_connections,omitempty"`
	Health         plan.Health `json:"health,omitempty"`
	Until          time.Time   `json:"until,omitzero"`
}

// addedRecord is a server that an operator has added.
type addedRecord struct {
	Name           string `json:"name,omitempty"`
	Weight         int    `json:"weight"`
	MaxConnections int    `json:"max_connections,omitempty"`
	Priority       int    `json:"priority,omitempty"`
	Backup         bool   `json:"backup,omitempty"`
	Locality       string `json:"locality,omitempty"`
}

// drainRuleRecord is a drain of servers.
type drainRuleRecord struct {
	Backend  string       `json:"backend,omitempty"`
	Locality string       `json:"locality,omitempty"`
	Network  netip.Prefix `json:"network,omitzero"`
	By       string       `json:"by,omitempty"`
	Since    time.Time    `json:"since,omitzero"`
}

// recordOverrides returns a record of what operators have set, in an order that does not depend on that of the maps.
func recordOverrides(overrides map[plan.ServerKey]plan.Override, drains map[plan.DrainRule]plan.Stamp) (
	r overridesRecord,
) {
	for key, o := range overrides {
		r.Overrides = append(r.Overrides, overrideRecord{
			Backend: key.Backend, Server: key.Address, Name: o.Name, By: o.By, Since: o.At, Added: (*addedRecord)(o.Added),
			Removed: o.Removed, State: o.State, Weight: o.Weight, MaxConnections: o.MaxConnections, Health: o.Health,
			Until: o.Until,
		})
	}
	slices.SortFunc(r.Overrides, func(a, b overrideRecord) int {
		if c := strings.Compare(a.Backend, b.Backend); c != 0 {
			return c
		}
		return a.Server.Compare(b.Server)
	})
	for rule, stamp := range drains {
		r.Drains = append(r.Drains, drainRuleRecord{rule.Backend, rule.Locality, rule.Network, stamp.By, stamp.At})
	}
	slices.SortFunc(r.Drains, func(a, b drainRuleRecord) int { return plan.CompareDrainRules(a.rule(), b.rule()) })
	return r
}

func (r *drainRuleRecord) rule() plan.DrainRule {
	return plan.DrainRule{Backend: r.Backend, Locality: r.Locality, Network: r.Network}
}

// restore returns what a record has that is valid and has not expired.
func (r *overridesRecord) restore(now time.Time) (map[plan.ServerKey]plan.Override, map[plan.DrainRule]plan.Stamp) {
	parts := plan.Parts{Overrides: map[plan.ServerKey]plan.Override{}, Drains: map[plan.DrainRule]plan.Stamp{}}
	for i := range r.Overrides {
		if len(parts.Overrides) == plan.MaxOverrides {
			break
		}
		in := &r.Overrides[i]
		o := plan.Override{
			Added: (*plan.Added)(in.Added), Removed: in.Removed, State: in.State, Weight: in.Weight,
			MaxConnections: in.MaxConnections, Health: in.Health, Until: in.Until, Name: in.Name,
			Stamp: plan.Stamp{By: in.By, At: in.Since},
		}
		if o.Check() == nil && !o.IsZero() && in.Server.IsValid() {
			parts.Overrides[plan.ServerKey{Backend: in.Backend, Address: in.Server}] = o
		}
	}
	for i := range r.Drains {
		if rule := r.Drains[i].rule(); rule.Check() == nil && len(parts.Drains) < plan.MaxDrainRules {
			parts.Drains[rule] = plan.Stamp{By: r.Drains[i].By, At: r.Drains[i].Since}
		}
	}
	parts.Expire(now)
	return parts.Overrides, parts.Drains
}
