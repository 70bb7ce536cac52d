package metrics

// ProxyStats is a reading of a proxy's counters.
type ProxyStats struct {
	Listeners []ListenerStats
	Backends  []BackendStats
	Servers   []ServerStats
}

// ListenerStats is what was counted at a listener.
type ListenerStats struct {
	Name          string
	Accepted      uint64 // connections ever
	Pauses        uint64 // times that accepting stopped because Limit was reached
	Current       int64  // connections now
	Limit         int    // connections there can be
	ReceivedBytes uint64 // from clients
	SentBytes     uint64 // to clients
	AcceptErrors  []Count
	Closed        []EndCount
	Duration      Histogram // of connections that have ended
}

// BackendStats is what was counted at a backend.
type BackendStats struct {
	Name        string
	ConnectTime Histogram // of connections that were made
}

// ServerStats is what was counted at a server of a backend.
type ServerStats struct {
	Backend, Name string
	Connections   uint64 // ever
	Current       int64  // now
	Failures      []Count
	Retries       uint64 // times that another server was tried instead
}

// Count is a count of one kind of event. The reasons are a fixed set.
type Count struct {
	Reason string
	N      uint64
}

// End is how a connection ended: who brought it about, in which phase. Both are fixed sets.
type End struct{ By, Phase string }

// EndCount is a count of connections that ended in one way.
type EndCount struct {
	End
	N uint64
}

// Histogram is a distribution of seconds. Counts has one element more than Bounds: those above all.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
}
