package balance

import (
	"cmp"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// policy is an algorithm that chooses a server from a set.
type policy struct {
	// prepare completes a new group. It may take over from the one before, which may be nil, but does not change it.
	prepare func(g, before *Group)
	// adopt prepares a Picker for a new group, while Picker.group is still the one before.
	adopt func(p *Picker, g *Group)
	// pick returns a usable member of s.live, which is not empty, or none. It does not allocate.
	pick func(c *choice, s *set) int32
}

// policies has the algorithm of each of config.Policies. The file of a policy adds it.
var policies = map[config.Policy]*policy{}

// policyOf returns the policy with a name, or the default for "". It panics on an unknown name.
func policyOf(name config.Policy) *policy {
	p := policies[cmp.Or(name, config.Policies[0])]
	if p == nil {
		panic("balance: unknown policy " + string(name))
	}
	return p
}
