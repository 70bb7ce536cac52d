package stats

// All is a reading of a proxy.
type All struct {
	Process   *Process   // may be nil
	AccessLog *AccessLog // may be nil
	Loops     []Loop
	Listeners []Listener
	Backends  []Backend
	Servers   []Server
}

// AccessLog counts lines of the access log.
type AccessLog struct {
	Lines   uint64 `json:"lines" doc:"Written so far."`
	Dropped uint64 `json:"dropped" doc:"Those for which the file was too slow."`
	Errors  uint64 `json:"errors" doc:"Of writing."`
}
