package stats

import "time"

// ControlPlane is what is known of the control plane.
type ControlPlane struct {
	Server      string    `json:"server" doc:"The one that is connected, or was tried last."`
	Connected   bool      `json:"connected"`
	Since       time.Time `json:"since,omitzero" doc:"Since when it is connected, or is not."`
	LastError   string    `json:"last_error,omitempty" doc:"Why there is no stream. Empty if there is one."`
	LastFailure time.Time `json:"last_failure,omitzero"`
	Node        string    `json:"node" doc:"The id by which this process is known to it."`
	Cluster     string    `json:"cluster,omitempty"`
	Zone        string    `json:"zone,omitempty"`
	Heard       time.Time `json:"heard,omitzero" doc:"When it was heard of last: the age of the configuration counts from it."`
	Restored    bool      `json:"restored" doc:"The process began with what the process before it, or the file last_good, had."`
	Reconnects  uint64    `json:"reconnects"`
	Pushes      uint64    `json:"pushes" doc:"Responses so far."`
	Changes     uint64    `json:"changes" doc:"Plans that they have changed."`

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
	Version string    `json:"version,omitempty" doc:"What the control plane calls what it has sent last."`
	State   string    `json:"state" doc:"accepted, warming (it waits for other resources), refused, held back (its removal waits), requested or absent. What was in force before stays in force meanwhile."`
	Since   time.Time `json:"since"`
	InForce bool      `json:"in_force" doc:"The plan has what it says, or what it said before."`
	Problem string    `json:"problem,omitempty" doc:"Why it is not accepted, or a remark on what is."`
}
