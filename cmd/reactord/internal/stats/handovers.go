package stats

// Handovers is a reading of the connections that have moved between processes.
type Handovers struct {
	Moved   uint64  `json:"moved" doc:"Connections that new processes have taken from this one."`
	Taken   uint64  `json:"taken" doc:"Connections that this process has taken from old ones."`
	Taking  bool    `json:"taking" doc:"Whether old processes may still hand over connections."`
	Staying []Count `json:"staying,omitempty" doc:"Connections that are to move and have not, by the reason."`
}

// StayReason explains why connections are in the old process of an upgrade.
type StayReason struct {
	Name    string
	Passes  bool   // they move when the reason has gone
	Meaning string // why
	Advice  string // what becomes of them, and what to do
}

// Reasons of connections that the old process does not explain.
const (
	StaysKept   = "kept"   // nothing moves any longer
	StaysMoving = "moving" // others still move
)

// StayReasons has all reasons, in the order in which they are shown.
var StayReasons = []StayReason{
	{"tls", false, "TLS ends in the old process",
		"they stay until they end; of TLS 1.3, those move whose handshake came after tls.handover was set"},
	{"refused", false, "the new process does not take them",
		"raise the limit on open files (LimitNOFILE=) if it is reached, and upgrade again; " +
			"sessions of UDP whose listener is gone end when they are idle"},
	{StaysKept, false, "the old process does not hand them over",
		"upgrade.move_connections is false, or the versions do not understand each other: see the log"},
	{"setup", true, "they have no server yet", "they move when they have one"},
	{"busy", true, "they are not at rest yet", "they move when what is in flight has completed"},
	{StaysMoving, true, "it is not their turn yet", "they move soon"},
}
