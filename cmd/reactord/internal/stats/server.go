package stats

import (
	"sync/atomic"
	"time"
)

// ServerState is what a server may be used for.
type ServerState string

// The values of [ServerState].
const (
	ServerUp          ServerState = "up"
	ServerEjected     ServerState = "ejected"
	ServerWaiting     ServerState = "waiting"
	ServerDown        ServerState = "down"
	ServerDrain       ServerState = "drain"
	ServerMaintenance ServerState = "maintenance"
)

// Server is a server of a backend.
type Server struct {
	Backend        string      `json:"backend"`
	Name           string      `json:"name"`
	Address        string      `json:"address"`
	State          ServerState `json:"state" enum:"up,ejected,waiting,down,drain,maintenance" doc:"State of the server; only up gets new connections."`
	Reason         string      `json:"reason,omitempty" doc:"Why it is not up, or is although its checks say otherwise."`
	Since          time.Time   `json:"since" doc:"Start of the state."`
	AdminState     string      `json:"admin_state" enum:"up,drain,maintenance" doc:"State set by its source or an override, regardless of health."`
	Weight         int         `json:"weight" min:"0" max:"1000" doc:"Share of connections relative to the other servers."`
	WeightPercent  float64     `json:"weight_percent" doc:"Effective percentage of the weight: below 100 during a slow start, or as set by its agent."`
	Priority       int         `json:"priority"`
	Backup         bool        `json:"backup"`
	Locality       string      `json:"locality,omitempty"`
	Connections    int         `json:"connections" doc:"Open connections to it."`
	MaxConnections int         `json:"max_connections" doc:"Limit on connections; 0: no limit."`
	ServerCounts[uint64]
	Failures         uint64       `json:"failures" doc:"Failed connects so far."`
	FailuresByReason Tally[Count] `json:"failures_by_reason,omitzero" doc:"The same, by reason."`
	Downtime         Seconds      `json:"downtime_seconds" doc:"Time down or ejected so far."`
	Check            *Check       `json:"check,omitempty" doc:"The last health check, if there was one."`
	Retransmits      uint64       `json:"retransmits" doc:"TCP segments that were sent again to it on connections that have ended. Of those that lasted less than 1 s, 1 in 32 is counted."`
	Health           string       `json:"health" enum:"auto,up,down" doc:"up or down if an operator forces it, whatever its checks say."`
	Overridden       bool         `json:"overridden" doc:"Whether an override of this API is in force."`
	Override         *Override    `json:"override,omitempty" doc:"Who has set, added or drained it, if an operator has."`
	OwnChecks        string       `json:"own_checks,omitempty" doc:"Settings of its check and agent that are its own and not its backend's, as the file writes them."`
	Origin           string       `json:"origin" doc:"Where the server comes from."`

	States          []ServerState `json:"-"` // that servers can be in
	EffectiveWeight float64       `json:"-"` // WeightPercent of Weight
	Checks          Tally[Count]  `json:"-"` // by result
	RTT             Histogram     `json:"-"` // of the connections that Retransmits counts
}

// Override says who has overridden settings of a server.
type Override struct {
	By    string    `json:"by,omitempty" doc:"The last one who has, if that is known."`
	Since time.Time `json:"since" doc:"When that was."`
	Until time.Time `json:"until,omitzero" doc:"When the forced health ends, if it does by itself."`
}

// ServerCounts counts events of a server: N is [atomic.Uint64] where upstream counts them, and uint64 in a reading.
type ServerCounts[N any] struct {
	Total       N `json:"total" doc:"Connections to it so far."`
	Retries     N `json:"retries" doc:"Connections that failed over from it to the next server."`
	Ejections   N `json:"ejections" doc:"Number of ejections."`
	Transitions N `json:"transitions" doc:"Number of state changes."`
}

// ReadServerCounts reads each counter. It may be called from any goroutine.
func ReadServerCounts(counts *ServerCounts[atomic.Uint64]) ServerCounts[uint64] {
	return ServerCounts[uint64]{
		Total: counts.Total.Load(), Retries: counts.Retries.Load(), Ejections: counts.Ejections.Load(),
		Transitions: counts.Transitions.Load(),
	}
}

// Check is a health check.
type Check struct {
	Ended time.Time `json:"ended"`
	Took  Seconds   `json:"took_seconds"`
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty" doc:"Why it has failed."`
}
