package admin

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Values that the API and [Client] exchange, as JSON. The tag doc describes a field, enum lists its values, and min
// and max limit it: the server checks its input by them, and the OpenAPI document states them. Times are RFC 3339,
// sizes are bytes.

// Seconds is a duration in seconds.
type Seconds = stats.Seconds

// None is the input of endpoints without one.
type None struct{}

// Phases of the daemon: see [Status].
const (
	Serving  = "serving"
	Unready  = "unready"
	Draining = "draining"
)

// Status is the state of the daemon.
type Status struct {
	Version     string           `json:"version" doc:"The version of reactord."`
	Revision    string           `json:"revision" doc:"The revision of its source."`
	Host        string           `json:"host" doc:"The name of the machine, or container."`
	PID         int              `json:"pid"`
	Started     time.Time        `json:"started"`
	Uptime      Seconds          `json:"uptime_seconds"`
	Phase       string           `json:"phase" enum:"starting,serving,reloading,unready,draining,ended" doc:"unready: it will drain, and still accepts."`
	Ring        string           `json:"ring" doc:"The kernel interface: io_uring or epoll."`
	RingReason  string           `json:"ring_reason,omitempty" doc:"Why epoll is used instead of io_uring."`
	Loops       int              `json:"loops" doc:"The number of I/O threads."`
	Plan        uint64           `json:"plan" doc:"The revision of the plan in force."`
	Connections int              `json:"connections" doc:"Open connections of clients."`
	Limit       int              `json:"limit" doc:"Limit on open connections: max_connections, or what the limit on open files allows."`
	IdleTimeout float64          `json:"idle_timeout_ratio" doc:"Factor applied to idle timeouts: below 1 while memory is short."`
	LogLevel    string           `json:"log_level"`
	Role        string           `json:"role" enum:"read,operator,admin" doc:"The role of who asks: see admin.roles."`
	AccessLog   *stats.AccessLog `json:"access_log,omitempty" doc:"Counters of the access log, if there is one."`
	LastReload  *Reload          `json:"last_reload,omitempty" doc:"The last reload, if there was one."`
	Drain       *Drain           `json:"drain,omitempty" doc:"The progress of the drain, if there is one."`

	Paused []PausedBackend `json:"paused,omitempty" doc:"Backends that an operator has paused."`

	Handover     *stats.Handovers `json:"handover,omitempty" doc:"Connections that have moved between processes, if some have."`
	Predecessors []Predecessor    `json:"predecessors,omitempty" doc:"Old processes of upgrades that still have connections, most recent first."`
}

// PausedBackend is a backend that an operator has paused.
type PausedBackend struct {
	Backend string  `json:"backend" doc:"Name of the backend."`
	Left    Seconds `json:"left_seconds" doc:"Time until the pause ends by itself."`
	Held    int     `json:"held" doc:"Connections that wait."`
}

// Predecessor is an old process of an upgrade that still has connections.
type Predecessor struct {
	PID         int     `json:"pid"`
	Version     string  `json:"version,omitempty"`
	Revision    string  `json:"revision,omitempty"`
	Elapsed     Seconds `json:"elapsed_seconds" doc:"Time since it was replaced."`
	Left        Seconds `json:"left_seconds" doc:"Time until it drains (upgrade.timeout) or, once draining, resets its connections; 0: no limit."`
	Connections int     `json:"connections" doc:"Its open connections."`
	Error       string  `json:"error,omitempty" doc:"Why the rest is unknown."`

	Moved   uint64        `json:"moved,omitempty" doc:"Connections that new processes have taken from it."`
	Staying []stats.Count `json:"staying,omitempty" doc:"Its connections that have not moved, by the reason."`
}

// Plan is the plan in force.
type Plan struct {
	Revision  uint64         `json:"revision" doc:"Number of the plan, counted from the start of the process."`
	Settings  Settings       `json:"settings" doc:"The settings of the process, as in the file."`
	Listeners []PlanListener `json:"listeners"`
	Backends  []PlanBackend  `json:"backends"`
}

// Settings are settings by the names and values of the configuration file.
type Settings json.RawMessage

// MarshalJSON returns s itself, or {}.
func (s Settings) MarshalJSON() ([]byte, error) {
	if len(s) == 0 {
		return []byte("{}"), nil
	}
	return s, nil
}

// UnmarshalJSON copies text.
func (s *Settings) UnmarshalJSON(text []byte) error {
	*s = append((*s)[:0], text...)
	return nil
}

// PlanListener is a listener of the plan.
type PlanListener struct {
	Name     string   `json:"name"`
	Address  string   `json:"address" doc:"Address that it listens on: IP:PORT, udp://IP:PORT, unix://PATH or fd://NAME."`
	Backend  string   `json:"backend"`
	Routes   int      `json:"routes,omitempty" doc:"Number of routes."`
	Settings Settings `json:"settings" doc:"All settings, as in the file."`
}

// PlanBackend is a backend of the plan.
type PlanBackend struct {
	Name     string       `json:"name"`
	Settings Settings     `json:"settings" doc:"All settings, as in the file."`
	Servers  []PlanServer `json:"servers"`
}

// PlanServer is a server of the plan.
type PlanServer struct {
	Name           string `json:"name"`
	Address        string `json:"address"`
	State          string `json:"state" enum:"up,drain,maintenance"`
	Weight         int    `json:"weight" min:"0" max:"1000"`
	Priority       int    `json:"priority"`
	Backup         bool   `json:"backup"`
	Locality       string `json:"locality,omitempty"`
	MaxConnections int    `json:"max_connections" doc:"Limit on connections; 0: no limit."`
	Plain          bool   `json:"plain,omitempty" doc:"Whether the server has no TLS although its backend does."`
	Health         string `json:"health" enum:"auto,up,down" doc:"up or down if an operator forces it."`
	Reason         string `json:"reason,omitempty" doc:"Who has set the state or the health, if not its source."`

	Check *Settings `json:"check,omitempty" doc:"Settings of the check that are the server's own."`
	Agent *Settings `json:"agent,omitempty" doc:"Settings of the agent that are the server's own."`

	Origin string `json:"origin" doc:"Origin of the server: FILE:LINE:COLUMN, or the source of discovery."`
}

// Listeners holds all listeners.
type Listeners struct {
	Listeners []stats.Listener `json:"listeners"`
}

// ExplanationQuery describes a client, or names an open connection.
type ExplanationQuery struct {
	Connection string `query:"connection" doc:"Id of an open connection, instead of everything else."`
	Listener   string `query:"listener" doc:"Name of the listener. Default: the only one."`
	From       string `query:"from" doc:"Address of the client: IP or IP:PORT. Default: none, as of a client of a unix socket."`
	Via        string `query:"via" doc:"Address of a proxy that sends a PROXY header with the addresses from and to, or unix."`
	To         string `query:"to" doc:"Address that the client connects to: IP:PORT. Default: that of the listener."`
	SNI        string `query:"sni" doc:"Server name of its ClientHello."`
	ALPN       string `query:"alpn" doc:"Protocols of its ClientHello, separated by commas."`
	TLS        bool   `query:"tls" doc:"The client speaks TLS. It does with sni or alpn."`
}

// Backends holds all backends.
type Backends struct {
	Backends []stats.Backend `json:"backends"`
}

// BackendKey identifies a backend.
type BackendKey struct {
	Backend string `path:"backend" doc:"The name of the backend."`
}

// PauseQuery pauses a backend.
type PauseQuery struct {
	BackendKey
	For time.Duration `query:"for" doc:"How long the pause lasts, if nobody ends it sooner: up to 24h. Default: 5m."`
}

// Servers holds servers of backends.
type Servers struct {
	Servers []stats.Server `json:"servers"`
}

// ServerQuery selects servers.
type ServerQuery struct {
	Backend string `query:"backend" doc:"Only servers of this backend."`
}

// ServerKey identifies a server of a backend.
type ServerKey struct {
	Backend string `path:"backend" doc:"The name of the backend."`
	Server  string `path:"server" doc:"The name of the server, or its address."`
}

// Filter selects connections that match every field set.
type Filter struct {
	Listener string        `query:"listener" doc:"Only connections of this listener."`
	Backend  string        `query:"backend" doc:"Only connections to this backend."`
	Server   string        `query:"server" doc:"Only connections to this server: its name or its address."`
	Client   netip.Prefix  `query:"client" doc:"Only connections of clients with this address or prefix, such as 192.0.2.0/24."`
	MinAge   time.Duration `query:"min_age" doc:"Only connections open for at least this long, such as 10m."`
	MinIdle  time.Duration `query:"min_idle" doc:"Only connections idle for at least this long, such as 30s."`
	PID      int           `query:"pid" min:"1" doc:"Only connections of the process with this id: this one, or an old process of an upgrade. Default: all."`
}

// ConnectionQuery selects a page of connections.
type ConnectionQuery struct {
	Filter
	Limit int    `query:"limit" min:"1" max:"10000" doc:"Limit on connections in the answer. Default: 1000."`
	After string `query:"after" doc:"The value of next from the previous page."`
	TCP   bool   `query:"tcp" doc:"Adds client_tcp and server_tcp: two system calls (TCP_INFO) for each connection."`
}

// Connection is a connection of a client.
type Connection struct {
	ID            string  `json:"id" doc:"Id of the connection, unique while the process runs. In an old process of an upgrade it is ID@PID."`
	Listener      string  `json:"listener"`
	Client        string  `json:"client" doc:"The client's address: IP:PORT."`
	Backend       string  `json:"backend"`
	Server        string  `json:"server,omitempty" doc:"Name of the server, once chosen."`
	ServerAddress string  `json:"server_address,omitempty"`
	State         string  `json:"state" enum:"queue,connect,data,last_data" doc:"last_data: one side has sent EOF or was reset."`
	Age           Seconds `json:"age_seconds" doc:"Time since it was opened."`
	Idle          Seconds `json:"idle_seconds" doc:"Time since the last byte."`
	ReceivedBytes uint64  `json:"received_bytes" doc:"Bytes received from the client."`
	SentBytes     uint64  `json:"sent_bytes" doc:"Bytes sent to the client."`
	SNI           string  `json:"sni,omitempty" doc:"Server name of the ClientHello, if it was read."`
	TLSVersion    string  `json:"tls_version,omitempty" doc:"Version of TLS with the client, such as TLS 1.3, if it ends here."`
	ClientTCP     *TCP    `json:"client_tcp,omitempty" doc:"The TCP connection with the client, with tcp."`
	ServerTCP     *TCP    `json:"server_tcp,omitempty" doc:"The TCP connection with the server, with tcp, once bytes flow."`
}

// TCP describes a TCP connection as the kernel does (TCP_INFO).
type TCP struct {
	RTT          Seconds `json:"rtt_seconds,omitempty" doc:"Smoothed round-trip time, if one was measured."`
	MinRTT       Seconds `json:"min_rtt_seconds,omitempty" doc:"Shortest round-trip time of the last minutes (net.ipv4.tcp_min_rtt_wlen), if one was measured."`
	Retransmits  uint64  `json:"retransmits" doc:"Segments that were sent again, in total."`
	DeliveryRate uint64  `json:"delivery_rate,omitempty" doc:"Bytes per second that the other side has received lately, if enough were sent to tell."`
}

// Connections is a page of connections.
type Connections struct {
	Connections []Connection `json:"connections"`
	Next        string       `json:"next,omitempty" doc:"Start of the next page, for the parameter after. Absent on the last page."`
}

// SourceQuery selects sources of clients.
type SourceQuery struct {
	Listener string `query:"listener" doc:"Only sources of this listener. Default: those of each listener, and those of all together if limits.source_connections counts them."`
	Sort     string `query:"sort" enum:"connections,accepted,bytes,rejected" doc:"What comes first: most open connections, connections so far, bytes, or connections that were reset because of a limit by source. Default: connections."`
	Limit    int    `query:"limit" min:"1" max:"10000" doc:"Limit on sources in the answer. Default: 20."`
}

// ConnectionKey identifies a connection.
type ConnectionKey struct {
	ID string `path:"id" doc:"The id of the connection."`
}

// CloseQuery selects connections to close.
type CloseQuery struct {
	Filter
	All bool `query:"all" doc:"Closes all connections. Required without other parameters, and refused with them."`
}

// Closed is the result of closing connections.
type Closed struct {
	Closed int `json:"closed" doc:"Number of connections closed."`
}

// Reload is the result of a reload.
type Reload struct {
	At       time.Time `json:"at" doc:"When it ended."`
	OK       bool      `json:"ok" doc:"Whether the plan was put in force. If not, nothing changed."`
	Revision uint64    `json:"revision" doc:"The revision of the plan in force afterwards."`
	Changes  []string  `json:"changes" doc:"Changes, one per line."`
	Errors   []Place   `json:"errors" doc:"Errors of the new plan."`
}

// Place is an error with its place.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty" doc:"Counted from 1."`
	Column int    `json:"column,omitempty" doc:"Counted from 1."`
	Text   string `json:"text" doc:"What is wrong, and what to write instead."`
}

// DrainQuery has the parameters of a drain.
type DrainQuery struct {
	Hold bool `query:"hold" doc:"Only fail /readyz, until another request; connections are still accepted and served."`
}

// Drain is the progress of a drain.
type Drain struct {
	Phase       string  `json:"phase" enum:"starting,serving,reloading,unready,draining,ended" doc:"A drain begins with unready."`
	Held        bool    `json:"held" doc:"Whether the process only reports not ready, until it drains."`
	Elapsed     Seconds `json:"elapsed_seconds" doc:"Time since the process began to drain, or to report not ready."`
	Left        Seconds `json:"left_seconds" doc:"Time until the remaining connections are reset; 0 while held."`
	Connections int     `json:"connections" doc:"Open connections, including those of old processes of upgrades."`
}

// Upgrade is the result of an upgrade.
type Upgrade struct {
	PID int `json:"pid" doc:"Id of the process that has taken over."`
}

// LogLevel is the lowest severity that is logged.
type LogLevel struct {
	Level string `json:"level" enum:"debug,info,warn,error"`
}

// LogLevelUpdate sets the log level.
type LogLevelUpdate struct {
	Body LogLevel
}

// Loop holds the counters of an I/O thread.
type Loop struct {
	Name        string  `json:"name"`
	Ring        string  `json:"ring" doc:"io_uring or epoll."`
	Busy        Seconds `json:"busy_seconds" doc:"Time in which it could not serve anything else, since its start."`
	Waiting     Seconds `json:"waiting_seconds" doc:"Rest of the time since then."`
	LongestTurn Seconds `json:"longest_turn_seconds" doc:"Longest time in callbacks without looking for completions."`
	InFlight    int     `json:"in_flight" doc:"Started operations that have not completed."`
	Leaked      int     `json:"leaked" doc:"Operations that never completed."`
	Completions uint64  `json:"completions"`
	Enters      uint64  `json:"enters" doc:"Number of times it entered the ring."`
	Cancels     uint64  `json:"cancels"`
	Posts       uint64  `json:"posts" doc:"Work taken from other threads."`
	Timers      uint64  `json:"timers" doc:"Expired timers."`
	BufferWaits uint64  `json:"buffer_waits" doc:"Receives that found no buffer and had to wait."`
	BufferBytes int64   `json:"buffer_bytes"`
	LeasedBytes int64   `json:"leased_bytes"`
	Descriptors int     `json:"descriptors"`
	CPUs        []int   `json:"cpus,omitempty" doc:"CPU that it is bound to, with pin."`
	Connections int     `json:"connections" doc:"Open connections of clients."`
	Accepted    uint64  `json:"accepted" doc:"Connections so far, and sessions of UDP."`
	Local       uint64  `json:"accepted_locally,omitempty" doc:"Those that its own CPU had received, with incoming_cpu."`
}

// SlowTurn is a turn of a loop that took too long.
type SlowTurn struct {
	At     time.Time `json:"at"`
	Loop   string    `json:"loop"`
	Lasted Seconds   `json:"lasted_seconds" doc:"Duration when it was noticed."`
	Stack  string    `json:"stack,omitempty" doc:"Stack of the loop."`
}

// Loops holds all loops.
type Loops struct {
	Loops     []Loop     `json:"loops"`
	SlowTurns []SlowTurn `json:"slow_turns" doc:"The last turns that took too long."`
}

// Profile is an available profile.
type Profile struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Profiles lists all profiles.
type Profiles struct {
	Profiles []Profile `json:"profiles"`
}

// ProfileQuery selects a profile.
type ProfileQuery struct {
	Name   string        `path:"name" doc:"cpu, trace, or the name of a profile of runtime/pprof, such as heap or goroutine."`
	Length time.Duration `query:"seconds" doc:"How long cpu and trace record. Default: 10. At most 300."`
	Debug  int           `query:"debug" min:"0" max:"2" doc:"1 or 2: as text."`
}

// Discovery holds all sources of discovery.
type Discovery struct {
	Sources []stats.Source `json:"sources"`
}

// SnapshotQuery limits the events of a snapshot.
type SnapshotQuery struct {
	After int `query:"after" doc:"Only events after the one with this number. Default: all remembered ones."`
}

// Snapshot holds all counters of the daemon, and recent events.
type Snapshot struct {
	Status    Status           `json:"status"`
	Loops     []Loop           `json:"loops"`
	Listeners []stats.Listener `json:"listeners"`
	Backends  []stats.Backend  `json:"backends"`
	Servers   []stats.Server   `json:"servers"`
	Failing   []stats.Failing  `json:"failing" doc:"What has failed within the last hour, what fails now first: at most 50 kinds."`
	Events    []Event          `json:"events" doc:"Events in order. The last 256 are remembered."`
}

// Event is a line of the log that concerns the daemon, not a single connection.
type Event struct {
	Number  uint64    `json:"number" doc:"Number of the event, from 1. A soon repeated event gets the next number."`
	At      time.Time `json:"at"`
	Times   int       `json:"times" doc:"Number of repetitions, each within 5 s."`
	Level   string    `json:"level" enum:"info,warn,error"`
	Message string    `json:"message"`
	Fields  Settings  `json:"fields" doc:"Fields of the log line."`
}
