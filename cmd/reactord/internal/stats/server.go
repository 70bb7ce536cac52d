package stats

import "time"

// Server is a server of a backend.
type Server struct {
	Backend          string       `json:"backend"`
	Name             string       `json:"name"`
	Address          string       `json:"address"`
	State            string       `json:"state" enum:"up,ejected,waiting,down,drain,maintenance" doc:"State of the server; only up gets new connections."`
	Reason           string       `json:"reason,omitempty" doc:"Why it is not up."`
	Since            time.Time    `json:"since" doc:"Start of the state."`
	AdminState       string       `json:"admin_state" enum:"up,drain,maintenance" doc:"State set by its source or an override, regardless of health."`
	Weight           int          `json:"weight" min:"0" max:"1000" doc:"Share of connections relative to the other servers."`
	WeightPercent    float64      `json:"weight_percent" doc:"Effective percentage of the weight: below 100 during a slow start, or as set by its agent."`
	Priority         int          `json:"priority"`
	Backup           bool         `json:"backup"`
	Locality         string       `json:"locality,omitempty"`
	Connections      int          `json:"connections" doc:"Open connections to it."`
	MaxConnections   int          `json:"max_connections" doc:"Limit on connections; 0: no limit."`
	Total            uint64       `json:"total" doc:"Connections to it so far."`
	Failures         uint64       `json:"failures" doc:"Failed connects so far."`
	FailuresByReason Tally[Count] `json:"failures_by_reason,omitzero" doc:"The same, by reason."`
	Retries          uint64       `json:"retries" doc:"Connections that failed over from it to the next server."`
	Ejections        uint64       `json:"ejections" doc:"Number of ejections."`
	Transitions      uint64       `json:"transitions" doc:"Number of state changes."`
	Downtime         Seconds      `json:"downtime_seconds" doc:"Time down or ejected so far."`
	Check            *Check       `json:"check,omitempty" doc:"The last health check, if there was one."`
	Overridden       bool         `json:"overridden" doc:"Whether an override of this API is in force."`
	Origin           string       `json:"origin" doc:"Where the server comes from."`

	States          []string     `json:"-"` // that servers can be in
	EffectiveWeight float64      `json:"-"` // WeightPercent of Weight
	Checks          Tally[Count] `json:"-"` // by result
}

// Check is a health check.
type Check struct {
	Ended time.Time `json:"ended"`
	Took  Seconds   `json:"took_seconds"`
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty" doc:"Why it has failed."`
}
