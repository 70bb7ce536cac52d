package config

import (
	"fmt"
	"strings"
)

// Policy selects the algorithm of load balancing.
type Policy string

// The values of [Policy].
const (
	P2C              Policy = "p2c"
	RoundRobin       Policy = "round_robin"
	Random           Policy = "random"
	LeastConnections Policy = "least_connections"
	SourceHash       Policy = "source_hash"
	Maglev           Policy = "maglev"
)

// policies describes the algorithms, in the order in which messages list them. The first is the default.
var policies = []struct {
	name   Policy
	chosen string // how, for the documentation of the setting
	hashes bool   // by the client's address: load_factor applies
}{
	{P2C, "default; of two random servers, the one with fewer connections", false},
	{RoundRobin, "smooth, weighted", false},
	{Random, "by weight", false},
	{LeastConnections, "the server with the fewest connections for its weight", false},
	{SourceHash, "a client address keeps its server; a server that joins or leaves moves only its own clients", true},
	{Maglev, "nearly the same in constant time, for hundreds of servers", true},
}

// Policies has the values of [Policy] in the same order.
var Policies = func() (all []Policy) {
	for _, p := range policies {
		all = append(all, p.name)
	}
	return all
}()

// Hashes reports whether a policy chooses by the client's address.
func (p Policy) Hashes() bool {
	for i := range policies {
		if policies[i].name == p {
			return policies[i].hashes
		}
	}
	return false
}

// describePolicies continues the comment of the setting.
func describePolicies() string {
	texts := make([]string, len(policies))
	for i, p := range policies {
		texts[i] = fmt.Sprintf("%q (%s)", p.name, p.chosen)
	}
	return alternatives(texts)
}

// hashingPolicies lists those that hash, for a message.
func hashingPolicies() string {
	var names []string
	for _, p := range policies {
		if p.hashes {
			names = append(names, string(p.name))
		}
	}
	return alternatives(names)
}

// alternatives joins words with "or".
func alternatives(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}
