package stats

// All is a reading of a proxy.
type All struct {
	Process   *Process   // may be nil
	AccessLog *AccessLog // may be nil
	Loops     []Loop
	Listeners []Listener
	Backends  []Backend
	Servers   []Server
	Failures  []Failure
	Totals    *Totals // nil: listeners and backends have distributions of their own
}

// Totals are distributions of all listeners, backends and servers, those that have left the plan included.
type Totals struct {
	Duration    Histogram // see [Listener]
	FirstByte   Histogram
	ClientRTT   Histogram
	ConnectTime Histogram // see [Backend]
	QueueTime   Histogram
	CheckTime   Histogram
	ServerRTT   Histogram // see [Server]
}

// Wanted selects what a reading of a proxy has.
type Wanted struct {
	Servers  bool
	Failures bool
	// Full adds counts of 0, addresses, and the durations of each listener and backend instead of those of all.
	Full bool
}

// AccessLog counts lines of the access log.
type AccessLog struct {
	Lines   uint64 `json:"lines" doc:"Written so far."`
	Dropped uint64 `json:"dropped" doc:"Those for which their reader was too slow."`
	Errors  uint64 `json:"errors" doc:"Of writing."`
}
