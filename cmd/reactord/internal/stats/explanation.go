package stats

// Outcome is what becomes of a connection.
type Outcome string

// The values of [Outcome].
const (
	OutcomeForward Outcome = "forward"
	OutcomeQueue   Outcome = "queue"   // it waits for a server
	OutcomeWait    Outcome = "wait"    // it is not accepted yet
	OutcomeRefuse  Outcome = "refuse"  // it is reset, or not accepted
	OutcomeUnknown Outcome = "unknown" // its listener or its client is gone
)

// Explanation describes what happens to a connection of a client, and why.
type Explanation struct {
	Listener   string               `json:"listener"`
	Outcome    Outcome              `json:"outcome" enum:"forward,queue,wait,refuse,unknown" doc:"queue: it waits for a server; wait: it is not accepted yet; unknown: of an open connection whose listener or client is gone."`
	Reason     string               `json:"reason,omitempty" doc:"Why it is not forwarded; of a refusal as in the access log: BY/PHASE."`
	Connection *ExplainedConnection `json:"connection,omitempty" doc:"What the open connection has got that was asked for. The rest is about one like it that comes now."`
	Steps      []ExplainedStep      `json:"steps" doc:"What was decided, in order."`
	Routes     []ExplainedRoute     `json:"routes,omitempty" doc:"Routes that were looked at, in order, up to the one that matches."`
	Route      string               `json:"route,omitempty" doc:"The route that matches."`
	Rates      []ExplainedRate      `json:"rates,omitempty" doc:"Rates that it, or its bytes, count in."`
	Limits     []ExplainedLimit     `json:"limits,omitempty" doc:"Limits of the process and the listener that count it."`
	Timeouts   []ExplainedTimeout   `json:"timeouts,omitempty" doc:"Timeouts before its backend is known."`
	Backends   []ExplainedBackend   `json:"backends,omitempty" doc:"Backends, one of which is drawn by weight."`
}

// ExplainedConnection describes an open connection.
type ExplainedConnection struct {
	ID      string `json:"id"`
	Client  string `json:"client"`
	State   string `json:"state" enum:"opening,queue,connect,greeting,data,last_data"`
	SNI     string `json:"sni,omitempty"`
	Route   string `json:"route,omitempty"`
	Backend string `json:"backend,omitempty"`
	Server  string `json:"server,omitempty"`
	Address string `json:"server_address,omitempty"`
}

// ExplainedStep describes a decision about a connection.
type ExplainedStep struct {
	Setting string `json:"setting" doc:"The setting that decided."`
	OK      bool   `json:"ok" doc:"Whether the connection goes on."`
	Text    string `json:"text"`
	Origin  string `json:"origin,omitempty" doc:"Where the setting is: FILE:LINE:COLUMN."`
}

// ExplainedRoute describes a route that was looked at.
type ExplainedRoute struct {
	Name   string `json:"name"`
	Unmet  string `json:"unmet,omitempty" enum:"sni,transport,alpn,sources,destinations,destination_ports" doc:"The first condition that does not hold; empty: the route matches."`
	Text   string `json:"text,omitempty" doc:"What it wants instead."`
	Origin string `json:"origin,omitempty" doc:"Where the condition, or the route, is: FILE:LINE:COLUMN."`
}

// ExplainedLimit describes a limit that counts a connection.
type ExplainedLimit struct {
	Setting string `json:"setting"`
	Of      string `json:"of" doc:"What it limits, such as listener web."`
	Now     int64  `json:"now"`
	Limit   int64  `json:"limit" doc:"0: no limit."`
	Origin  string `json:"origin,omitempty"`
}

// Full reports whether the limit allows no further connection.
func (l *ExplainedLimit) Full() bool { return l.Limit > 0 && l.Now >= l.Limit }

// ExplainedRate describes a rate that a connection counts in.
type ExplainedRate struct {
	Setting   string `json:"setting"`
	Of        string `json:"of" doc:"What it limits, such as listener web or a prefix of clients."`
	PerSecond int64  `json:"per_second"`
	Unit      string `json:"unit" enum:"connections,bytes"`
	Origin    string `json:"origin,omitempty"`
}

// ExplainedTLS describes TLS of this proxy with one side.
type ExplainedTLS struct {
	Side        string   `json:"side" enum:"client,server"`
	Versions    string   `json:"versions" doc:"From the lowest to the highest, as 1.2-1.3."`
	ALPN        []string `json:"alpn,omitempty"`
	Certificate string   `json:"certificate,omitempty" doc:"First name of the certificate that is shown."`
	Verifies    string   `json:"verifies" doc:"How the other side's certificate is verified: none, request or require; of a server its name, the names of sans, or insecure."`
	Origin      string   `json:"origin,omitempty"`
}

// ExplainedTimeout describes a timeout that applies to a connection.
type ExplainedTimeout struct {
	Setting string  `json:"setting"`
	Seconds Seconds `json:"seconds" doc:"0: none."`
	Origin  string  `json:"origin,omitempty" doc:"Where the value is from: FILE:LINE, or default."`
}

// String returns the value for people: a duration, or none.
func (t *ExplainedTimeout) String() string {
	if t.Seconds == 0 {
		return "none"
	}
	return t.Seconds.Duration().String()
}

// ExplainedBackend describes a backend that a connection may get.
type ExplainedBackend struct {
	Backend   string             `json:"backend"`
	Percent   float64            `json:"percent" doc:"Percentage of such connections that get this backend."`
	Outcome   Outcome            `json:"outcome" enum:"forward,queue,refuse"`
	Reason    string             `json:"reason,omitempty"`
	Policy    string             `json:"policy"`
	Hashes    bool               `json:"hashes,omitempty" doc:"The policy chooses by the address of the client: it gets the chosen server, unless that is full or beyond load_factor."`
	Sticky    string             `json:"sticky,omitempty" doc:"Address of the server that the client stays at: balance.sticky."`
	Panic     bool               `json:"panic,omitempty" doc:"Whether health is ignored because too few servers are healthy."`
	Servers   []ExplainedServer  `json:"servers"`
	Limits    []ExplainedLimit   `json:"limits"`
	Timeouts  []ExplainedTimeout `json:"timeouts"`
	ClientTLS string             `json:"client_tls" enum:"none,terminated,passed on" doc:"What becomes of the TLS of the client."`
	TLS       []ExplainedTLS     `json:"tls,omitempty" doc:"TLS that this proxy speaks."`
	Header    string             `json:"proxy_header" enum:"none,v1,v2" doc:"The PROXY header for the server."`
	TLVs      []string           `json:"tlvs,omitempty" doc:"Extensions of the PROXY header."`
}

// ExplainedServer describes a server of a backend.
type ExplainedServer struct {
	Server         string      `json:"server"`
	Address        string      `json:"address"`
	State          ServerState `json:"state" enum:"up,ejected,waiting,down,drain,maintenance"`
	Reason         string      `json:"reason,omitempty" doc:"Why it is not up, or is although its checks say otherwise."`
	OwnChecks      string      `json:"own_checks,omitempty" doc:"Settings of its check and agent that are its own and not its backend's, as the file writes them."`
	Weight         int         `json:"weight"`
	Priority       int         `json:"priority"`
	Backup         bool        `json:"backup,omitempty"`
	Locality       string      `json:"locality,omitempty"`
	Percent        float64     `json:"percent" doc:"Percentage of the connections of the backend in the long run."`
	Connections    int         `json:"connections"`
	MaxConnections int         `json:"max_connections"`
	Chosen         bool        `json:"chosen" doc:"The client gets it: the policy hashes, or there is no other."`
	TLS            string      `json:"tls,omitempty" doc:"The server name of TLS with it; - for none."`
	Origin         string      `json:"origin" doc:"Origin of the server: FILE:LINE:COLUMN, or the source of discovery."`
}
