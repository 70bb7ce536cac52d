package stats

// Failure counts the connections that failed for one reason at one place. An end by a drain or an operator is none, and
// neither is one by a timeout, unless the server was silent.
type Failure struct {
	Listener string `json:"listener"`
	Backend  string `json:"backend,omitempty" doc:"Absent if none was chosen."`
	Server   string `json:"server,omitempty" doc:"The server that was tried last. Absent if none was chosen."`
	Reason   string `json:"reason" doc:"What ended them, as term_by in the metrics, or why they were rejected."`
	Phase    string `json:"phase"`
	TLSCause string `json:"tls_cause,omitempty" doc:"Why TLS has failed, as in the access log."`
	Code     string `json:"code" doc:"Their code in the access log's format tcplog."`
	Fault    string `json:"fault" enum:"client,server,proxy,policy" doc:"Whose fault it is; policy: a limit or rule of the configuration."`
	Text     string `json:"text" doc:"The reason as a sentence."`
	Count    uint64 `json:"count"`
}

// Whose fault an end is.
const (
	ClientFault = "client"
	ServerFault = "server"
	ProxyFault  = "proxy"
	PolicyFault = "policy"
)

// FaultOf returns whose fault an end is, or "" for a normal one.
func FaultOf(by, phase string) string {
	switch by {
	case "normal":
		return ""
	case "server", "server_down", "server_cut", "server_tls", "connect_timeout", "no_server", "first_byte_timeout",
		"retry_budget":
		return ServerFault
	case "client", "client_cut", "client_tls", "bad_proxy_header", "bad_preamble", "bad_client_hello", "inspect_timeout",
		"denied", "untrusted", "no_route":
		return ClientFault
	case "handshake_timeout":
		if phase == "tls" {
			return ClientFault
		}
		return ServerFault
	case "idle_timeout", "half_close_timeout", "lifetime", "drain", "admin", "killed", "source_rate",
		"source_connections", "limit", "rate", "ports", "draining":
		return PolicyFault
	}
	return ProxyFault
}

// IsFailure reports whether an end is a failure that users notice: the fault of a server or of the proxy, or in the TLS
// handshake with the client.
func IsFailure(by, phase string) bool {
	of := FaultOf(by, phase)
	return of == ServerFault || of == ProxyFault || phase == "tls"
}
