package admin

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// The values that the API and [Client] exchange, as JSON. The tag doc describes a field, enum lists its values, and min
// and max bound it: the server checks what it is sent, and the OpenAPI document says the same. Times are RFC 3339,
// sizes are bytes.

// Seconds is a duration in seconds.
type Seconds = stats.Seconds

// None is the input of endpoints that have none.
type None struct{}

// The phases of the daemon: see [Status].
const (
	Serving  = "serving"
	Unready  = "unready"
	Draining = "draining"
)

// Status is the state of the daemon.
type Status struct {
	Version     string           `json:"version" doc:"The version of reactord."`
	Revision    string           `json:"revision" doc:"The revision of its source."`
	PID         int              `json:"pid"`
	Started     time.Time        `json:"started"`
	Uptime      Seconds          `json:"uptime_seconds"`
	Phase       string           `json:"phase" enum:"starting,serving,reloading,unready,draining,ended" doc:"unready: it drains soon, and still accepts."`
	Ring        string           `json:"ring" doc:"The kernel interface: io_uring or epoll."`
	RingReason  string           `json:"ring_reason,omitempty" doc:"Why it is epoll although io_uring was preferred."`
	Loops       int              `json:"loops" doc:"The number of I/O threads."`
	Plan        uint64           `json:"plan" doc:"The revision of the plan in force."`
	Connections int              `json:"connections" doc:"Open connections of clients."`
	Limit       int              `json:"limit" doc:"How many may be open: the limit on open files, or max_connections."`
	IdleTimeout float64          `json:"idle_timeout_ratio" doc:"The part of the idle timeouts that is in force: below 1 while memory is short."`
	LogLevel    string           `json:"log_level"`
	AccessLog   *stats.AccessLog `json:"access_log,omitempty" doc:"What became of the lines of the access log, if there is one."`
	LastReload  *Reload          `json:"last_reload,omitempty" doc:"The last reload, if there was one."`
	Drain       *Drain           `json:"drain,omitempty" doc:"The progress of the drain, if there is one."`

	Predecessors []Predecessor `json:"predecessors,omitempty" doc:"The old processes of upgrades that have connections still, the last one first."`
}

// Predecessor is an old process of an upgrade whose connections have not ended.
type Predecessor struct {
	PID         int     `json:"pid"`
	Version     string  `json:"version,omitempty"`
	Revision    string  `json:"revision,omitempty"`
	Elapsed     Seconds `json:"elapsed_seconds" doc:"For how long it has been replaced."`
	Left        Seconds `json:"left_seconds" doc:"In what time it drains (upgrade.timeout), or resets its connections if it drains; 0: it has no limit."`
	Connections int     `json:"connections" doc:"Its open connections."`
	Error       string  `json:"error,omitempty" doc:"Why the rest is not known."`
}

// Plan is the plan in force.
type Plan struct {
	Revision  uint64         `json:"revision" doc:"Counts the plans that were put in force."`
	Settings  Settings       `json:"settings" doc:"The settings of the process, as in the file."`
	Listeners []PlanListener `json:"listeners"`
	Backends  []PlanBackend  `json:"backends"`
}

// Settings are settings with the names and values of the configuration file.
type Settings json.RawMessage

// MarshalJSON is s itself, or {}.
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
	Address  string   `json:"address" doc:"Where it listens: IP:PORT, udp://IP:PORT, unix://PATH or fd://NAME."`
	Backend  string   `json:"backend"`
	Routes   int      `json:"routes,omitempty" doc:"How many routes lead elsewhere, or otherwise."`
	Settings Settings `json:"settings" doc:"All of its settings, as in the file."`
}

// PlanBackend is a backend of the plan.
type PlanBackend struct {
	Name     string       `json:"name"`
	Settings Settings     `json:"settings" doc:"All of its settings, as in the file."`
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
	MaxConnections int    `json:"max_connections" doc:"0: no limit."`
	Plain          bool   `json:"plain,omitempty" doc:"There is no TLS with the server, although the backend has it."`
	Origin         string `json:"origin" doc:"Where the server comes from: FILE:LINE:COLUMN, or the source of discovery."`
}

// Listeners is all listeners.
type Listeners struct {
	Listeners []stats.Listener `json:"listeners"`
}

// Backends is all backends.
type Backends struct {
	Backends []stats.Backend `json:"backends"`
}

// Servers is servers of backends.
type Servers struct {
	Servers []stats.Server `json:"servers"`
}

// ServerQuery chooses servers.
type ServerQuery struct {
	Backend string `query:"backend" doc:"Only servers of this backend."`
}

// ServerKey is a server of a backend.
type ServerKey struct {
	Backend string `path:"backend" doc:"The name of the backend."`
	Server  string `path:"server" doc:"The name of the server, or its address."`
}

// ServerUpdate is an override of a server.
type ServerUpdate struct {
	ServerKey
	Body ServerChange
}

// ServerChange is what an override changes. What is not set remains as it is.
type ServerChange struct {
	State  *string `json:"state,omitempty" enum:"up,drain,maintenance" doc:"drain: no new connections; maintenance: not checked, either."`
	Weight *int    `json:"weight,omitempty" min:"0" max:"1000" doc:"The server's share of connections, in relation to the others."`
}

// Filter chooses connections: those that match everything that is set.
type Filter struct {
	Listener string        `query:"listener" doc:"Only connections of this listener."`
	Backend  string        `query:"backend" doc:"Only connections to this backend."`
	Server   string        `query:"server" doc:"Only connections to this server: its name or its address."`
	Client   netip.Prefix  `query:"client" doc:"Only connections of clients with this address or prefix, as 192.0.2.0/24."`
	MinAge   time.Duration `query:"min_age" doc:"Only connections that have been open for so long, as 10m."`
	MinIdle  time.Duration `query:"min_idle" doc:"Only connections on which no byte has moved for so long, as 30s."`
	PID      int           `query:"pid" min:"1" doc:"Only connections of the process with this id: this one, or an old process of an upgrade. Default: all of them."`
}

// ConnectionQuery is a page of a list of connections.
type ConnectionQuery struct {
	Filter
	Limit int    `query:"limit" min:"1" max:"10000" doc:"How many connections are answered at most. Default: 1000."`
	After string `query:"after" doc:"The value next of the page before this one."`
}

// Connection is a connection of a client.
type Connection struct {
	ID            string  `json:"id" doc:"Identifies the connection while the process runs. In an old process of an upgrade it is ID@PID."`
	Listener      string  `json:"listener"`
	Client        string  `json:"client" doc:"The client's address: IP:PORT."`
	Backend       string  `json:"backend"`
	Server        string  `json:"server,omitempty" doc:"The name of the server, once one is chosen."`
	ServerAddress string  `json:"server_address,omitempty"`
	State         string  `json:"state" enum:"queue,connect,data,last_data" doc:"last_data: one side has sent EOF or was reset."`
	Age           Seconds `json:"age_seconds" doc:"For how long it has been open."`
	Idle          Seconds `json:"idle_seconds" doc:"For how long no byte has moved."`
	ReceivedBytes uint64  `json:"received_bytes" doc:"From the client."`
	SentBytes     uint64  `json:"sent_bytes" doc:"To the client."`
}

// Connections is a page of a list of connections.
type Connections struct {
	Connections []Connection `json:"connections"`
	Next        string       `json:"next,omitempty" doc:"Where the next page begins: the parameter after. There is none after the last page."`
}

// ConnectionKey is a connection.
type ConnectionKey struct {
	ID string `path:"id" doc:"The id of the connection."`
}

// CloseQuery chooses connections to close.
type CloseQuery struct {
	Filter
	All bool `query:"all" doc:"Closes all connections; it is refused beside other parameters, and necessary without."`
}

// Closed is the result of closing connections.
type Closed struct {
	Closed int `json:"closed" doc:"How many connections were closed."`
}

// Reload is the result of a reload.
type Reload struct {
	At       time.Time `json:"at" doc:"When it ended."`
	OK       bool      `json:"ok" doc:"Whether the plan was put in force. If not, nothing has changed."`
	Revision uint64    `json:"revision" doc:"The revision of the plan in force afterwards."`
	Changes  []string  `json:"changes" doc:"What has changed, one line a change."`
	Errors   []Place   `json:"errors" doc:"What is wrong with the new plan."`
}

// Place is something that is wrong, and where it is.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty" doc:"Counted from 1."`
	Column int    `json:"column,omitempty" doc:"Counted from 1."`
	Text   string `json:"text" doc:"What is wrong, and what to write instead."`
}

// DrainQuery is how the process drains.
type DrainQuery struct {
	Hold bool `query:"hold" doc:"Only fail /readyz, until another request: connections are accepted and served."`
}

// Drain is the progress of a drain.
type Drain struct {
	Phase       string  `json:"phase" enum:"starting,serving,reloading,unready,draining,ended" doc:"There is a drain from unready on."`
	Held        bool    `json:"held" doc:"The process is not ready, and nothing ends until it drains."`
	Elapsed     Seconds `json:"elapsed_seconds" doc:"For how long the process has been draining, or not been ready."`
	Left        Seconds `json:"left_seconds" doc:"In what time the remaining connections are reset; 0 while it is held."`
	Connections int     `json:"connections" doc:"Open connections, with those of the old processes of upgrades."`
}

// Upgrade is a new process that takes over.
type Upgrade struct {
	PID int `json:"pid" doc:"The process that has taken over. This one drains."`
}

// LogLevel is the least severe level that is logged.
type LogLevel struct {
	Level string `json:"level" enum:"debug,info,warn,error"`
}

// LogLevelUpdate sets the log level.
type LogLevelUpdate struct {
	Body LogLevel
}

// Loop is the counters of an I/O thread.
type Loop struct {
	Name        string  `json:"name"`
	Ring        string  `json:"ring" doc:"io_uring or epoll."`
	Busy        Seconds `json:"busy_seconds" doc:"For how long it could not serve anything else, since it began."`
	Waiting     Seconds `json:"waiting_seconds" doc:"The rest of the time since then."`
	LongestTurn Seconds `json:"longest_turn_seconds" doc:"For how long it has been in callbacks at most without looking for completions."`
	InFlight    int     `json:"in_flight" doc:"Operations that were started and have not completed."`
	Leaked      int     `json:"leaked" doc:"Operations that never completed."`
	Completions uint64  `json:"completions"`
	Enters      uint64  `json:"enters" doc:"How often it entered the ring."`
	Cancels     uint64  `json:"cancels"`
	Posts       uint64  `json:"posts" doc:"Work taken from other threads."`
	Timers      uint64  `json:"timers" doc:"Timers that have expired."`
	BufferWaits uint64  `json:"buffer_waits" doc:"Receives that found no buffer and had to wait."`
	BufferBytes int64   `json:"buffer_bytes"`
	LeasedBytes int64   `json:"leased_bytes"`
	Descriptors int     `json:"descriptors"`
	Connections int     `json:"connections" doc:"Open connections of clients."`
}

// SlowTurn is a turn of a loop that lasted too long.
type SlowTurn struct {
	At     time.Time `json:"at"`
	Loop   string    `json:"loop"`
	Lasted Seconds   `json:"lasted_seconds" doc:"So far, when it was noticed."`
	Stack  string    `json:"stack,omitempty" doc:"Where the loop was."`
}

// Loops is all loops.
type Loops struct {
	Loops     []Loop     `json:"loops"`
	SlowTurns []SlowTurn `json:"slow_turns" doc:"The last turns that lasted too long."`
}

// Profile is a profile that can be read.
type Profile struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Profiles is all profiles.
type Profiles struct {
	Profiles []Profile `json:"profiles"`
}

// ProfileQuery chooses a profile.
type ProfileQuery struct {
	Name   string        `path:"name" doc:"cpu, trace, or the name of a profile of runtime/pprof, as heap or goroutine."`
	Length time.Duration `query:"seconds" doc:"For how long cpu and trace record. Default: 10. At most 300."`
	Debug  int           `query:"debug" min:"0" max:"2" doc:"1 or 2: as text, for people."`
}

// Source is a source of discovery.
type Source struct {
	Name        string     `json:"name" doc:"What it asks, as dns NAME."`
	Backend     string     `json:"backend"`
	Servers     int        `json:"servers" doc:"How many servers its last good answer has."`
	Lookups     uint64     `json:"lookups" doc:"Attempts so far."`
	Failures    uint64     `json:"failures" doc:"How many of them have failed."`
	LastSuccess *time.Time `json:"last_success,omitempty" doc:"When it last had a good answer."`
	LastError   string     `json:"last_error,omitempty" doc:"Why the last attempt has failed. Empty if it has not."`
	LastFailure *time.Time `json:"last_failure,omitempty"`
}

// Discovery is all sources of discovery.
type Discovery struct {
	Sources []Source `json:"sources"`
}

// SnapshotQuery is what a snapshot has beside the counters.
type SnapshotQuery struct {
	After int `query:"after" doc:"Only events after the one with this number. Default: all that are remembered."`
}

// Snapshot is all counters of the daemon, and what happened last.
type Snapshot struct {
	Status    Status           `json:"status"`
	Loops     []Loop           `json:"loops"`
	Listeners []stats.Listener `json:"listeners"`
	Backends  []stats.Backend  `json:"backends"`
	Servers   []stats.Server   `json:"servers"`
	Events    []Event          `json:"events" doc:"In order. The last 256 are remembered."`
}

// Event is a line of the log: something that happened to the daemon, not to one connection.
type Event struct {
	Number  uint64    `json:"number" doc:"Counts the events of the process, from 1. An event that is repeated soon gets the next one."`
	At      time.Time `json:"at"`
	Times   int       `json:"times" doc:"How often it has happened, each time within 5 s."`
	Level   string    `json:"level" enum:"info,warn,error"`
	Message string    `json:"message"`
	Fields  Settings  `json:"fields" doc:"What it is about."`
}
