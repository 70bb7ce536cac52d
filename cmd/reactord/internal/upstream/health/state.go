package health

// State is the result of a server's checks. Successes and failures count in a row.
//
//	Up      → Falling   a failure
//	Falling → Down      failures reach fall
//	Falling → Up        a success
//	Down    → Rising    a success
//	Rising  → Up        successes reach rise
//	Rising  → Down      a failure
//
// With a fall or rise of 1, the states between are skipped. An inconclusive check changes nothing.
//
// A server starts as Falling with one failure left, as in HAProxy: it is used immediately, and the first check
// decides.
type State uint8

// States of a server.
const (
	Falling State = iota
	Up
	Down
	Rising
)

// String returns the name of the state.
func (s State) String() string { return [...]string{"falling", "up", "down", "rising"}[s] }

// Healthy reports whether a server in this state gets connections.
func (s State) Healthy() bool { return s == Up || s == Falling }

// streak is a state with the length of the run that led to it.
type streak struct {
	state State
	n     int // successes while Rising, failures while Falling
}

// newStreak returns the state of an unchecked server.
func newStreak(fall int) streak { return streak{Falling, fall - 1} }

// next returns the state after one more check.
func (s streak) next(ok bool, rise, fall int) streak {
	switch {
	case ok && s.state.Healthy():
		return streak{state: Up}
	case !ok && !s.state.Healthy():
		return streak{state: Down}
	case ok && s.n+1 >= rise:
		return streak{state: Up}
	case ok:
		return streak{Rising, s.n + 1}
	case s.n+1 >= fall:
		return streak{state: Down}
	}
	return streak{Falling, s.n + 1}
}
