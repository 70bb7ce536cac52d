package stats

// Handovers is a reading of the connections that have moved between processes.
type Handovers struct {
	Moved   uint64  `json:"moved" doc:"Connections that new processes have taken from this one."`
	Taken   uint64  `json:"taken" doc:"Connections that this process has taken from old ones."`
	Staying []Count `json:"staying,omitempty" doc:"Connections that are to move and have not, by the reason."`
}
