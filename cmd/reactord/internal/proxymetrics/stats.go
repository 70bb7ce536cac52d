package proxymetrics

// Stats is a reading of a proxy's counters.
type Stats struct {
	Listeners []ListenerStats
	Backends  []BackendStats
	Servers   []ServerStats
}

// ListenerStats is a reading of the counters of a listener.
type ListenerStats struct {
	Name          string
	Accepted      uint64  // connections so far
	PausedSeconds float64 // in which Limit was reached, on all loops together
	Pauses        uint64  // times that accepting stopped because Limit was reached
	Current       int64   // connections now
	Limit         int     // connections that can be open
	ReceivedBytes uint64  // from clients
	SentBytes     uint64  // to clients
	Rejected      []Count // connections that were reset because of a limit
	AcceptErrors  []Count
	Closed        []EndCount
	Duration      Histogram // of connections that have ended
}

// BackendStats is a reading of the counters of a backend.
type BackendStats struct {
	Name        string
	ConnectTime Histogram // of connects that succeeded
}

// ServerStats is a reading of the counters of a server of a backend.
type ServerStats struct {
	Backend, Name string
	Connections   uint64 // so far
	Current       int64  // now
	Failures      []Count
	Retries       uint64 // times that a connection failed over to the next server
}

// Count is a count of one kind of event. The reasons are from a fixed set.
type Count struct {
	Reason string
	N      uint64
}

// End is how a connection ended: what ended it, and in which phase. Both are from fixed sets.
type End struct{ By, Phase string }

// EndCount is a count of connections that ended in one way.
type EndCount struct {
	End
	N uint64
}

// Histogram is a distribution of durations in seconds. Counts[i] counts those up to Bounds[i] and above the bound
// before it. The last element of Counts counts those above all bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
}
