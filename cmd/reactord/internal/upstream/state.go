package upstream

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// State is what a server is used for. Four voices say a state each; the server has the last of them in this order.
//
//	the plan    Up → Drain, Maintenance and back     whenever a plan is put in force
//	the checks  Waiting → Up, Down                   the first check has ended
//	            Up → Down                            Fall checks in a row have failed
//	            Down → Up                            Rise checks in a row have succeeded, or there are none any more
//	the agent   Up → Down, Drain, Maintenance, back  the agent's word, or it is not asked any more
//	ejection    Up → Ejected                         Failures connects in a row have failed
//	            Ejected → Up                         its time has passed, its check has passed Rise times, no other
//	                                                 server can serve, or servers are not ejected any more
type State uint8

// The states of a server.
const (
	Up          State = iota // it gets new connections
	Ejected                  // out for a time, because connections could not be made
	Waiting                  // its first check has not ended
	Down                     // a check or the agent says so
	Drain                    // no new connections
	Maintenance              // the same, and it is not checked
	stateCount
)

var stateNames = [stateCount]string{"up", "ejected", "waiting", "down", "drain", "maintenance"}

// logged is what the log says when a server enters a state.
var logged = [stateCount]string{
	"server is up", "server is ejected", "server waits for its first check", "server is down", "server is draining",
	"server is in maintenance",
}

// String is the state for people and metrics.
func (s State) String() string { return stateNames[s] }

// takesPart reports whether the server counts as one of the group: it has connections, or would have if it were well.
func (s State) takesPart() bool { return s < Drain }

// voice is who says in which state a server is.
type voice uint8

const (
	voicePlan voice = iota
	voiceCheck
	voiceAgent
	voiceEjection
	voiceCount
)

// standing is what is known of a server. It does not change: the control loop replaces it.
type standing struct {
	says    [voiceCount]State
	reasons [voiceCount]string // for people
	since   time.Time          // when the state was entered
	down    time.Duration      // how long the server was down or ejected before that

	agentPercent int // of the weight
	permille     int // of the weight, while the server starts slowly; 1000: all
}

// deciding is the voice that decides: the one with the last state.
func (s *standing) deciding() voice {
	v := voicePlan
	for i, state := range s.says {
		if state > s.says[v] {
			v = voice(i)
		}
	}
	return v
}

func (s *standing) state() State { return s.says[s.deciding()] }

// reason is why the server is not up; "": it is.
func (s *standing) reason() string { return s.reasons[s.deciding()] }

// downtime returns how long the server was down or ejected.
func (s *standing) downtime(now time.Time) time.Duration {
	if state := s.state(); state != Down && state != Ejected {
		return s.down
	}
	return s.down + now.Sub(s.since)
}

// weight is what the server's weight is now, in thousandths.
func (s *standing) weight(of int) int { return of * s.agentPercent * s.permille / 100 }

// stateIn is the state if the plan says another one.
func (s *standing) stateIn(planned State) State {
	return max(planned, s.says[voiceCheck], s.says[voiceAgent], s.says[voiceEjection])
}

// couldServe reports whether the server would have connections if it was not ejected.
func (s *standing) couldServe(p *plan.Server) bool {
	return s.weight(p.Weight) > 0 && max(planned(p), s.says[voiceCheck], s.says[voiceAgent]) == Up
}

// planned is what a plan says of a server.
func planned(p *plan.Server) State {
	switch p.State {
	case plan.Drain:
		return Drain
	case plan.Maintenance:
		return Maintenance
	}
	return Up
}
