package stats

import "time"

// Process is a reading of what listeners and backends share.
type Process struct {
	Connections      int64   // open ones, including those of listeners that are gone
	Limit            int     // connections that can be open
	Draining         bool    // including the delay of a drain
	IdleTimeoutRatio float64 // the part of the idle timeouts that is in force: below 1 while memory is short
	PressuredSeconds float64 // for which it was below 1
	IncomingCPU      bool    // connections go to the loops of the CPUs that receive them
}

// Daemon is a reading of the daemon around the proxy.
type Daemon struct {
	States       []string // that it can be in
	State        string   // one of them
	ConfigSHA256 string   // of the configuration in force, in hexadecimal digits
	PlanRevision uint64
	PlanChanged  time.Time // when the plan came into force
	Overrides    int       // of servers, by operators
	LogDropped   uint64    // lines of the log that were dropped
	TicketKeys   int       // keys that decrypt session tickets
	TicketKeyAt  time.Time // when the key was made that encrypts them
}

// Predecessors is a reading of the old processes of upgrades whose connections have not ended.
type Predecessors struct {
	Processes   int
	Connections int           // open ones of all of them
	Oldest      time.Duration // for how long the first of them has been replaced
	Staying     []Count       // their connections that have not moved to this process, by the reason
	Taken       uint64        // connections that have
	Pause       Histogram     // in which a connection that has moved stood still
}

// Reloads counts the reloads since the process has started. The start is none of them.
type Reloads struct {
	Succeeded, Failed uint64
	LastSuccessful    bool      // the last reload succeeded, or there was none
	LastSuccess       time.Time // of a reload, or of the start
	Err               error     // of the last reload; nil: it succeeded
}
