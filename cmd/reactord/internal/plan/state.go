package plan

import "fmt"

// State is the administrative state of a server.
type State uint8

// The states of a server.
const (
	Up          State = iota
	Drain             // no new connections
	Maintenance       // no new connections, and no health checks
)

var states = [...]string{Up: "up", Drain: "drain", Maintenance: "maintenance"}

// String returns the state as the configuration file writes it.
func (s State) String() string {
	if int(s) < len(states) {
		return states[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// MarshalText returns the text of [State.String].
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText does the same as [ParseState].
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// ParseState reads "up", "drain" or "maintenance".
func ParseState(text string) (State, error) {
	for i, name := range states {
		if text == name {
			return State(i), nil
		}
	}
	return Up, fmt.Errorf("%q is unknown: write up, drain or maintenance", text)
}
