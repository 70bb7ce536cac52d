package admin

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// ServerUpdate is an override of a server.
type ServerUpdate struct {
	ServerKey
	Body ServerChange
}

// ServerChange holds the changes of an override. Unset fields remain as they are.
type ServerChange struct {
	State          *string `json:"state,omitempty" enum:"up,drain,maintenance" doc:"drain: no new connections; maintenance: no checks either."`
	Weight         *int    `json:"weight,omitempty" min:"0" max:"1000" doc:"Share of connections relative to the other servers."`
	MaxConnections *int    `json:"max_connections,omitempty" min:"0" doc:"Limit on connections; 0: no limit."`
	Health         *string `json:"health,omitempty" enum:"auto,up,down" doc:"up and down replace what checks and ejection say, and that the agent says down; auto ends that."`
	For            *string `json:"for,omitempty" doc:"How long health up or down lasts, such as 10m. Default: until it is set again."`
}

// ServerAddition adds a server to a backend.
type ServerAddition struct {
	Backend string `path:"backend" doc:"The name of the backend."`
	Body    NewServer
}

// NewServer is a server that an operator adds.
type NewServer struct {
	Address        string `json:"address" doc:"IP:PORT, or unix:///PATH or unix://@NAME."`
	Name           string `json:"name,omitempty" doc:"Name of the server. Default: its address."`
	Weight         *int   `json:"weight,omitempty" min:"0" max:"1000" doc:"Share of connections relative to the other servers. Default: 1."`
	MaxConnections int    `json:"max_connections,omitempty" min:"0" doc:"Limit on connections; 0: no limit."`
	Priority       int    `json:"priority,omitempty" min:"0" doc:"Group of servers: lower ones get connections first."`
	Backup         bool   `json:"backup,omitempty" doc:"Whether it comes after all priorities."`
	Locality       string `json:"locality,omitempty" doc:"Location of the server, such as its zone."`
}

// Overrides holds everything that operators have set of servers.
type Overrides struct {
	Servers []ServerOverride `json:"servers"`
	Drains  []ServerDrain    `json:"drains" doc:"Drains of the servers of a locality or network."`
}

// ServerOverride is what operators have set of a server.
type ServerOverride struct {
	Backend string `json:"backend"`
	Server  string `json:"server" doc:"Name of the server."`
	Address string `json:"address"`
	stats.Override
	Added   bool `json:"added,omitempty" doc:"Whether an operator has added the server."`
	Removed bool `json:"removed,omitempty" doc:"Whether an operator has removed the server, which its sources may have."`
	InForce bool `json:"in_force" doc:"Whether the backend has the server now, or would have it if it were not removed."`

	State          string `json:"state,omitempty" enum:"up,drain,maintenance"`
	Weight         *int   `json:"weight,omitempty"`
	MaxConnections *int   `json:"max_connections,omitempty"`
	Health         string `json:"health,omitempty" enum:"up,down"`
}

// DrainedServers says which servers to drain: those that match every field that is set. Either locality or network must
// be.
type DrainedServers struct {
	Backend  string `json:"backend,omitempty" query:"backend" doc:"Only servers of this backend. Default: of all."`
	Locality string `json:"locality,omitempty" query:"locality" doc:"Only servers in this location, such as a zone."`
	Network  string `json:"network,omitempty" query:"network" doc:"Only servers with addresses in this network, such as 10.2.0.0/16."`
}

// DrainServersBody begins a drain of servers.
type DrainServersBody struct {
	Body DrainedServers
}

// ServerDrain is a drain of servers, which also applies to those that come later.
type ServerDrain struct {
	DrainedServers
	By      string    `json:"by,omitempty" doc:"Who has begun it, if that is known."`
	Since   time.Time `json:"since"`
	Servers int       `json:"servers" doc:"Number of servers that it applies to now."`
}

// ClearQuery selects overrides to clear.
type ClearQuery struct {
	Backend string `query:"backend" doc:"Only overrides and drains of this backend."`
	All     bool   `query:"all" doc:"Clears all of them. Required without backend, and refused with it."`
}

// Cleared is the result of clearing overrides.
type Cleared struct {
	Cleared int `json:"cleared" doc:"Number of overrides and drains that have ended."`
}
