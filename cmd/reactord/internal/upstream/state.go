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
	since   time.Time           // when it entered the state
	down    time.Duration       // total time down or ejected before that

	agentPercent int // percentage of the weight
	permille     int // share of the weight during a slow start; otherwise 1000
}

// deciding returns the signal with the most severe state.
func (s *status) deciding() signal {
	v := signalPlan
	for i, state := range s.states {
		if state > s.states[v] {
			v = signal(i)
		}
	}
	return v
}

func (s *status) state() State { return s.states[s.deciding()] }

// reason returns why the server is not up, or "" if it is.
func (s *status) reason() string { return s.reasons[s.deciding()] }

// downtime returns how long the server has been down or ejected.
func (s *status) downtime(now time.Time) time.Duration {
	if state := s.state(); state != Down && state != Ejected {
		return s.down
	}
	return s.down + now.Sub(s.since)
}

// weight returns the current weight in thousandths.
func (s *status) weight(of int) int { return of * s.agentPercent * s.permille / 100 }

// stateIn returns the state if the plan reported another one.
func (s *status) stateIn(planned State) State {
	return max(planned, s.states[signalCheck], s.states[signalAgent], s.states[signalEjection])
}

// couldServe reports whether the server would get connections if it were not ejected.
func (s *status) couldServe(p *plan.Server) bool {
	return s.weight(p.Weight) > 0 && max(planned(p), s.states[signalCheck], s.states[signalAgent]) == Up
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
