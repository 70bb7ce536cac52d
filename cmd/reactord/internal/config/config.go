package config

import "time"

// Config is the whole configuration. [New] gives the defaults. A Config is valid if [Config.Validate] finds nothing.
type Config struct {
	// Ring is the kernel interface: "io_uring", "epoll", or "auto" (default), which is io_uring if it is available and
	// epoll if not.
	Ring string
	// Loops is the number of I/O threads. 0 (default) is one for each CPU that the process may use.
	Loops int
	// Pin binds each loop to a CPU of its own. Default: false.
	Pin bool
	// MinWait is how long an idle loop sleeps at least. It costs as much latency, and saves CPU time at about 10 000 to
	// 100 000 messages/s per loop. 0 (default): the loop sleeps until there is something to do.
	MinWait time.Duration
	// Metrics is the address of the HTTP server for /metrics, /livez and /readyz. The zero Address (default): there is
	// none.
	Metrics Address
	// DrainTimeout is how long open connections may take to end after SIGTERM. Then they are reset. 0: they are reset
	// immediately. Default: 30 s.
	DrainTimeout time.Duration
	// Log configures the log.
	Log Log
	// Listeners are the addresses on which connections are accepted, at least one.
	Listeners []Listener
	// Backends are the groups of servers that connections are proxied to.
	Backends []Backend
}

// Log configures the log.
type Log struct {
	// Level is the least severe level logged: "debug", "info" (default), "warn" or "error".
	Level string
	// Format is "json", "console", or "auto" (default): console on a terminal, json elsewhere.
	Format string
}

// Listener is an address on which connections for a backend are accepted.
type Listener struct {
	// Name identifies the listener in logs and metrics.
	Name string
	// Address is the address to listen on. Port 0 is any free port. Once names are looked up, it must not overlap the
	// address of another listener or of the metrics: "0.0.0.0" overlaps every IPv4 address, "::" every address.
	Address Address
	// Backend is the name of the backend that connections are proxied to.
	Backend string
	// MaxConnections is the maximum number of open connections, for all loops together. Further connections wait in the
	// kernel's queue. 0 (default): as many as the limit on open files allows. A part of that is guaranteed to each
	// listener.
	MaxConnections int
}

// Backend is a group of servers that can stand in for each other: round-robin with failover.
type Backend struct {
	// Name is the name by which listeners refer to the backend.
	Name string
	// Servers are the addresses that connections are spread over, at least one.
	Servers []Address
	// ConnectTimeout is how long connecting to a server may take. Then the next server is tried. Default: 5 s.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection may be open while no byte is received, sent or acknowledged in either
	// direction. 0: without limit. Default: 10 min.
	IdleTimeout time.Duration
	// HalfCloseTimeout is the same after one side has sent EOF or was reset. 0: without limit. Default: 30 s.
	HalfCloseTimeout time.Duration
	// Buffer is the maximum number of bytes in flight in each direction. At this number, reading from the source
	// pauses. Default: 64 KiB. If it is that much or more, bulk may take a piece of 256 KiB in a direction, or up to 1
	// MiB in the kernel in 16 directions of a loop.
	Buffer Size
}

// The values of the settings that have a fixed set of values.
var (
	Rings      = []string{"auto", "io_uring", "epoll"}
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"auto", "json", "console"}
)

// New is the configuration with every default, without listeners and backends.
func New() *Config {
	return &Config{
		Ring:         "auto",
		DrainTimeout: 30 * time.Second,
		Log:          Log{Level: "info", Format: "auto"},
	}
}

// NewBackend is a backend with every default, without a name and servers.
func NewBackend() Backend {
	return Backend{
		ConnectTimeout:   5 * time.Second,
		IdleTimeout:      10 * time.Minute,
		HalfCloseTimeout: 30 * time.Second,
		Buffer:           64 * KiB,
	}
}
