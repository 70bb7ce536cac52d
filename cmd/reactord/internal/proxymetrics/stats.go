package proxymetrics

// Stats is a reading of a proxy's counters.
type Stats struct {
	Process   *ProcessStats   // nil: none
	AccessLog *AccessLogStats // nil: none
	Listeners []ListenerStats
	Backends  []BackendStats
	Servers   []ServerStats
}

// ProcessStats is a reading of what the listeners share.
type ProcessStats struct {
	Current          int64   // connections now, those of listeners that are gone, too
	Limit            int     // connections that can be open
	Draining         bool    // the process drains, or waits for the delay of a drain
	Patience         float64 // the part of the idle timeouts that is in force: less than 1 while memory is short
	PressuredSeconds float64 // for which it was less than 1
}

// AccessLogStats is a reading of what became of the lines of the access log.
type AccessLogStats struct {
	Lines   uint64 // written
	Dropped uint64 // because the file took too little
	Errors  uint64 // of writing
}

// ListenerStats is a reading of the counters of a listener.
type ListenerStats struct {
	Name          string
	Network       string  // "tcp", "udp" or "unix"
	Accepted      uint64  // connections so far
	PausedSeconds float64 // in which Limit was reached, on all loops together
	// ThrottledSeconds is how long limits on bytes held directions of connections back, all together.
	ThrottledSeconds float64
	Pauses           uint64  // times that accepting stopped because Limit was reached
	Current          int64   // connections now
	Limit            int     // connections that can be open, if other listeners have few
	ReceivedBytes    uint64  // from clients
	SentBytes        uint64  // to clients
	Rejected         []Count // connections that were reset because of a limit
	AcceptErrors     []Count
	Closed           []EndCount
	Duration         Histogram // of connections that have ended
	FirstByte        Histogram // from accepting, or the first datagram, to the first byte of the server
	// Of UDP only: datagrams that were passed on, and those that were not.
	ReceivedDatagrams, SentDatagrams uint64
	DroppedDatagrams                 []Count

	Handshakes   []Handshakes
	Certificates []Certificate
}

// Handshakes is a count of TLS handshakes that had one result.
type Handshakes struct {
	Version string // "1.0" to "1.3"; "none": none was agreed on
	Result  string // "full", "resumed", "failed" or "timeout"
	N       uint64
}

// Certificate is when a certificate of a listener expires.
type Certificate struct {
	Index   int     // in the configuration
	Name    string  // the first one that it is for
	Expires float64 // in seconds since 1970
}

// BackendStats is a reading of the counters of a backend.
type BackendStats struct {
	Name           string
	Connections    uint64    // so far
	Current        int64     // connections now
	Limit          int       // of connections; 0: none
	Waiting        int64     // connections in the queue now
	QueueRefused   uint64    // connections that found the queue full
	RetriesRefused uint64    // retries that the retry budget did not allow
	NoServer       uint64    // connections that got no server, but those that their clients have ended
	Panic          bool      // health is ignored, because too few servers are healthy
	Panics         uint64    // how often that has begun
	Servers        []Count   // by state, all that there are
	ConnectTime    Histogram // of connects that succeeded
	QueueTime      Histogram // in the queue, of connections that have left it
	CheckTime      Histogram // of health checks that have ended
	Handshakes     []Handshakes
}

// ServerStats is a reading of the counters of a server of a backend.
type ServerStats struct {
	Backend, Name string
	States        []string // all that there are; the same for all servers
	State         string   // one of them
	Up            bool     // it gets new connections
	Weight        float64  // that is in force
	Connections   uint64   // so far
	Current       int64    // now
	Limit         int      // of connections; 0: none
	Failures      []Count
	Retries       uint64  // times that a connection failed over to the next server
	Checks        []Count // by result
	Transitions   uint64  // changes of the state
	Ejections     uint64
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
