package stats

import "time"

// ControlPlane is a reading of the client of the control plane.
type ControlPlane struct {
	Server      string    `json:"server" doc:"Connected server, or the one tried last."`
	Connected   bool      `json:"connected"`
	Since       time.Time `json:"since,omitzero" doc:"Start of the connection, or of its absence."`
	LastError   string    `json:"last_error,omitempty" doc:"Why there is no stream; empty if there is one."`
	LastFailure time.Time `json:"last_failure,omitzero"`
	Node        string    `json:"node" doc:"Node id of this process."`
	Cluster     string    `json:"cluster,omitempty"`
	Zone        string    `json:"zone,omitempty"`
	Heard       time.Time `json:"heard,omitzero" doc:"Last sign of life, from which the age of the configuration counts."`
	Restored    bool      `json:"restored" doc:"Whether the process started from the configuration of its predecessor or of the file last_good."`
	Reconnects  uint64    `json:"reconnects"`
	Pushes      uint64    `json:"pushes" doc:"Responses so far."`
	Changes     uint64    `json:"changes" doc:"Responses that changed the plan."`

	Resources []Resource     `json:"resources"`
	Types     []ResourceType `json:"-"`
}

// ResourceType is a reading of one type of resources.
type ResourceType struct {
	Type     string
	Version  string    // the last one of the control plane for all of them; may be empty
	Accepted time.Time // zero: never
	Refused  time.Time // zero: never
	Pushes   uint64
	Refusals uint64         // of pushes
	States   map[string]int // resources, by state
}

// Resource is a resource that a control plane has sent, or that was asked for.
type Resource struct {
	Type    string    `json:"type" doc:"listener, cluster, endpoints or secret."`
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty" doc:"Latest version, as named by the control plane."`
	State   string    `json:"state" doc:"accepted, warming (waits for other resources), refused, held back (its removal is delayed), requested or absent. Meanwhile the previous version stays in force."`
	Since   time.Time `json:"since"`
	InForce bool      `json:"in_force" doc:"Whether the plan contains this version or a previous one."`
	Problem string    `json:"problem,omitempty" doc:"Why it is not accepted, or a remark on an accepted one."`
}
