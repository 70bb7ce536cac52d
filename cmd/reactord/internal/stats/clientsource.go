package stats

// ClientSource is a prefix of clients' addresses, with what its connections take.
type ClientSource struct {
	Source      string `json:"source" doc:"Prefix of clients' addresses, or unix for clients of a unix socket."`
	Listener    string `json:"listener,omitempty" doc:"Absent: all listeners together, as limits.source_connections counts them."`
	Connections int    `json:"connections" doc:"Open connections."`
	Limit       int    `json:"limit,omitempty" doc:"Limit on open connections: source_connections.max. Absent: no limit."`

	// Without a limit, these are of open connections.
	ReceivedBytes uint64 `json:"received_bytes" doc:"Bytes received from clients, on connections that are open or have ended while the source was tracked."`
	SentBytes     uint64 `json:"sent_bytes" doc:"Bytes sent to clients, likewise."`

	// Without a limit, nothing is known of what has ended.
	Accepted uint64       `json:"accepted" doc:"Connections so far, while source_connections tracks the source; 0 if it does not."`
	Rejected Tally[Count] `json:"rejected,omitzero" doc:"Connections that were reset while it was tracked, by the limit."`
	Server   string       `json:"server,omitempty" doc:"Address of the server of the listener's backend that it stays at: balance.sticky."`
	Limited  []string     `json:"limited,omitempty" doc:"Limits that would reset a further connection now."`
}

// ClientSources is the sources with the most of something.
type ClientSources struct {
	Sources  []ClientSource `json:"sources" doc:"Sources in order, those with the most first."`
	Total    int            `json:"total" doc:"Number of sources that are known, with those that are not in the answer."`
	Unlisted int            `json:"unlisted,omitempty" doc:"Open connections whose sources are not among them, because there are too many sources."`
}
