package balance

import "github.com/reactord/reactord/cmd/reactord/internal/config"

// policy is an algorithm that chooses a server from a set.
type policy struct {
	name   config.Policy
	hashes bool // chooses by the client's address: it gets choice.hash, and the load factor applies

	// prepare completes a new group. It may take over from the one before, which may be nil, but does not change it.
	prepare func(g, before *Group)
	// adopt prepares a Picker for a new group, while Picker.group is still the one before.
	adopt func(p *Picker, g *Group)
	// pick returns a usable member of s.live, which is not empty, or none. It does not allocate.
	pick func(c *choice, s *set) int32
}

// policies are the rows of config.Policies, in the same order. The first is the default.
var policies = [...]policy{
	{name: config.P2C, pick: (*choice).twoRandom},
	{name: config.RoundRobin, pick: (*choice).roundRobin, prepare: (*Group).prepareTurns, adopt: (*Picker).adoptTurns},
	{name: config.Random, pick: (*choice).random},
	{name: config.LeastConnections, pick: (*choice).least},
	{name: config.SourceHash, pick: (*choice).rendezvous, hashes: true},
	{name: config.Maglev, pick: (*choice).maglev, prepare: (*Group).prepareTables, hashes: true},
}

// policyOf returns the policy with a name, or the default for "". It panics on an unknown name.
func policyOf(name config.Policy) *policy {
	if name == "" {
		return &policies[0]
	}
	for i := range policies {
		if policies[i].name == name {
			return &policies[i]
		}
	}
	panic("balance: unknown policy " + string(name))
}

// Hashes reports whether a policy chooses by the client's address. It panics on an unknown one.
func Hashes(name config.Policy) bool { return policyOf(name).hashes }
