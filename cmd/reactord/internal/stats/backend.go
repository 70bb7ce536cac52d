package stats

// Backend is a group of servers.
type Backend struct {
	Name           string            `json:"name"`
	Policy         string            `json:"policy" doc:"How a server is chosen."`
	Servers        int               `json:"servers"`
	Up             int               `json:"up" doc:"Servers that are up."`
	Panic          bool              `json:"panic" doc:"Whether health is ignored because too few servers are healthy."`
	Panics         uint64            `json:"panics" doc:"Number of times that health began to be ignored."`
	Connections    int               `json:"connections" doc:"Open connections to its servers."`
	MaxConnections int               `json:"max_connections" doc:"Limit on connections; 0: no limit."`
	Queued         int               `json:"queued" doc:"Connections that wait for a server."`
	Held           int               `json:"held" doc:"Connections of queued that are held because there is no server for them, and those of them that are being released."`
	Hold           Seconds           `json:"hold" doc:"How long connections are held; 0: they are not."`
	Paused         bool              `json:"paused" doc:"Whether an operator has paused it: no server gets a new connection."`
	PauseLeft      Seconds           `json:"pause_left_seconds,omitempty" doc:"Time until the pause ends by itself."`
	QueueSize      int               `json:"queue_size" doc:"Limit on waiting connections."`
	QueueRefused   uint64            `json:"queue_refused" doc:"Connections that were reset because the queue was full."`
	NoServer       uint64            `json:"no_server" doc:"Connections that got no server, except because of their client."`
	Total          uint64            `json:"total" doc:"Connections so far."`
	RetriesRefused uint64            `json:"retries_refused" doc:"Retries refused by the retry budget."`
	Sticky         int               `json:"sticky,omitempty" doc:"Sources of clients that stay at a server: balance.sticky."`
	ConnectTime    Histogram         `json:"connect_time,omitzero" doc:"Time to connect to its servers."`
	Handshakes     Tally[Handshakes] `json:"handshakes,omitzero" doc:"TLS handshakes with its servers."`

	States    Tally[Count] `json:"-"` // servers by state
	Holds     Tally[Count] `json:"-"` // connections that were held, by what has become of them
	QueueTime Histogram    `json:"-"` // in the queue, of connections that have left it
	CheckTime Histogram    `json:"-"` // of health checks that have ended
}
