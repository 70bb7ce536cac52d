package laboratory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// States maps servers, as "BACKEND/SERVER" with a name or an address, to a state other than that in the file: "down",
// "drain", "maintenance", or "up".
type States map[string]string

// StateError reports a state of a server that cannot be assumed.
type StateError struct{ Server, State, Text string }

// Error returns "BACKEND/SERVER=STATE: text".
func (e *StateError) Error() string { return e.Server + "=" + e.State + ": " + e.Text }

// reasonAssumed says why a server is not up.
const reasonAssumed = "assumed"

// assumed holds what is known of servers.
type assumed struct {
	overrides map[plan.ServerKey]plan.Override
	health    upstream.Handover
}

// assume returns the states of all servers of a plan. Later ones replace earlier ones. The error is a [StateError].
func assume(p *plan.Plan, all []States) (*assumed, error) {
	words := map[plan.ServerKey]string{}
	for _, states := range all {
		own := map[plan.ServerKey]string{}
		for _, where := range slices.Sorted(maps.Keys(states)) {
			word := states[where]
			key, text := findState(p, where, word)
			if text == "" && own[key] != "" {
				text = "the same server is there as " + own[key]
			}
			if text != "" {
				return nil, &StateError{where, word, text}
			}
			own[key], words[key] = where, word
		}
	}
	out := &assumed{overrides: map[plan.ServerKey]plan.Override{}}
	for i := range p.Backends {
		for _, of := range p.Backends[i].Servers {
			known := upstream.ServerHealth{
				Backend: p.Backends[i].Name(), Server: of.Address, Check: upstream.Up.String(),
			}
			key := plan.ServerKey{Backend: known.Backend, Address: of.Address}
			switch word := words[key]; word {
			case "":
			case down:
				known.Check, known.CheckReason = down, reasonAssumed
				known.Agent, known.AgentReason, known.AgentPercent = down, reasonAssumed, 100
			default:
				state, _ := plan.ParseState(word)
				out.overrides[key] = plan.Override{State: &state}
			}
			out.health.Servers = append(out.health.Servers, known)
		}
	}
	return out, nil
}

// down is the state that only checks and agents report.
var down = upstream.Down.String()

// findState returns the server that a state is about, or what is wrong with it.
func findState(p *plan.Plan, where, word string) (key plan.ServerKey, text string) {
	name, server, both := strings.Cut(where, "/")
	if !both {
		return key, "write BACKEND/SERVER=STATE"
	}
	b := p.Backend(name)
	if b == nil {
		return key, fmt.Sprintf("there is no backend %q", name)
	}
	of := b.Server(server)
	if of == nil {
		return key, fmt.Sprintf("backend %s has no server %q", name, server)
	}
	if word == down {
		if b.Settings.Check.Interval == 0 && b.Settings.Agent.Port == 0 {
			return key, fmt.Sprintf("backend %s has no check that could find that out: write drain or maintenance, "+
				"or give it a check", name)
		}
	} else if _, err := plan.ParseState(word); err != nil {
		return key, fmt.Sprintf("%q is no state: write up, down, drain or maintenance", word)
	}
	return plan.ServerKey{Backend: name, Address: of.Address}, ""
}
