package upstream

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// State is the usability of a server. Four signals report a state each; the most severe one wins.
//
//	the plan    Up → Drain, Maintenance and back     whenever a plan is put in force
//	the checks  Waiting → Up, Down                   the first check has ended
//	            Up → Down                            Fall checks in a row have failed
//	            Down → Up                            Rise checks in a row have succeeded, or checks are disabled
//	the agent   Up → Down, Drain, Maintenance, back  the agent reports it, or is no longer asked
//	ejection    Up → Ejected                         Failures connects in a row have failed
//	            Ejected → Up                         its time has passed, its check has passed Rise times, no other
//	                                                 server can serve, or ejection is disabled
//
// An operator may force the health of a server. Up hides what the checks and ejection say, and that the agent says
// down; Down is at least Down, and then even panic does not use the server. The hidden states go on meanwhile.
type State uint8

// The states of a server.
const (
	Up          State = iota // gets new connections
	Ejected                  // out for a time after failed connects
	Waiting                  // its first check is pending
	Down                     // reported by a check or the agent
	Drain                    // no new connections
	Maintenance              // no new connections and no checks
	stateCount
)

var stateNames = [stateCount]stats.ServerState{
	stats.ServerUp, stats.ServerEjected, stats.ServerWaiting, stats.ServerDown, stats.ServerDrain, stats.ServerMaintenance,
}

// logged is the log message for entering a state.
var logged = [stateCount]string{
	"server is up", "server is ejected", "server awaits its first check", "server is down", "server is draining",
	"server is in maintenance",
}

// String returns the name of the state, for people and metrics.
func (s State) String() string { return string(stateNames[s]) }

// eligible reports whether the server is eligible for traffic, health aside.
func (s State) eligible() bool { return s < Drain }

// signal is one of the signals that report a server's state.
type signal uint8

const (
	signalPlan signal = iota
	signalCheck
	signalAgent
	signalEjection
	signalCount
)

// status is the status of a server. It is immutable: the control loop replaces it.
type status struct {
	states  [signalCount]State
	reasons [signalCount]string // for people
	forced  forced
	since   time.Time     // when it entered the state
	down    time.Duration // total time down or ejected before that

	agentPercent int // percentage of the weight
	permille     int // share of the weight during a slow start; otherwise 1000
}

// forced is the health that an operator forces.
type forced struct {
	health plan.Health
	reason string
}

// visible returns the state of a signal as far as the forced health does not hide it.
func (f *forced) visible(state State) State {
	if f.health == plan.HealthUp && state < Drain {
		return Up
	}
	return state
}

// signaled returns the most severe state of the signals, and the signal.
func (s *status) signaled() (State, signal) {
	state, v := s.states[signalPlan], signalPlan
	for i := range s.states {
		if next := s.forced.visible(s.states[i]); next > state {
			state, v = next, signal(i)
		}
	}
	return state, v
}

func (s *status) state() State {
	state, _ := s.signaled()
	if s.forced.health == plan.HealthDown {
		return max(state, Down)
	}
	return state
}

// reason returns why the server is not up, or why it is up although its checks say otherwise; else "".
func (s *status) reason() string {
	state, v := s.signaled()
	switch {
	case s.forced.health == plan.HealthDown && state <= Down:
		return s.forced.reason
	case s.forced.health != plan.HealthUp || state != Up:
		return s.reasons[v]
	}
	auto := *s
	auto.forced = forced{}
	if hidden := auto.reason(); hidden != "" {
		return s.forced.reason + ": " + hidden
	}
	return s.forced.reason
}

// isEjected reports whether the server is ejected and not forced up.
func (s *status) isEjected() bool { return s.forced.visible(s.states[signalEjection]) == Ejected }

// downtime returns how long the server has been down or ejected.
func (s *status) downtime(now time.Time) time.Duration {
	if state := s.state(); state != Down && state != Ejected {
		return s.down
	}
	return s.down + now.Sub(s.since)
}

// weight returns the current weight in thousandths.
func (s *status) weight(of int) int { return of * s.agentPercent * s.permille / 100 }

// stateIn returns the state if p were what the plan says of the server.
func (s *status) stateIn(p *plan.Server) State {
	next := *s
	next.states[signalPlan], next.forced.health = planned(p), p.Health
	return next.state()
}

// couldServe reports whether the server would get connections if it were not ejected.
func (s *status) couldServe(p *plan.Server) bool {
	next := *s
	next.states[signalEjection] = Up
	return s.weight(p.Weight) > 0 && next.stateIn(p) == Up
}

// planned returns the state that a plan reports.
func planned(p *plan.Server) State {
	switch p.State {
	case plan.Drain:
		return Drain
	case plan.Maintenance:
		return Maintenance
	}
	return Up
}
