package config

import "time"

// Config is the whole configuration. New gives the defaults; a Config is valid when Validate finds
// nothing.
type Config struct {
	// Ring is how the kernel is spoken to: "io_uring", "epoll", or "auto" (default), which takes
	// io_uring where it can be had and epoll elsewhere.
	Ring string
	// Loops is the number of I/O threads; 0 (default): one for each CPU that the process may use.
	Loops int
	// Pin ties each loop to a CPU of its own. Default: false.
	Pin bool
	// MinWait is how long a loop that goes to sleep stays asleep at least, which costs so much latency and saves CPU
	// time with some 10 000 to 100 000 messages/s a loop; 0 (default): no longer than until there is something to do.
	MinWait time.Duration
	// Metrics is the address of the HTTP server for /metrics, /livez and /readyz; the zero Address
	// (default): none.
	Metrics Address
	// DrainTimeout is how long connections may take to end by themselves after SIGTERM before they
	// are closed; 0: they are closed at once. Default: 30 s.
	DrainTimeout time.Duration
	// Log says what is logged and how.
	Log Log
	// Listeners are the addresses that take connections, at least one.
	Listeners []Listener
	// Backends are the groups of servers that connections are passed on to.
	Backends []Backend
}

// Log says what is logged, and how.
type Log struct {
	// Level is the least severe level logged: "debug", "info" (default), "warn" or "error".
	Level string
	// Format is "json", "console", or "auto" (default): console on a terminal, json elsewhere.
	Format string
}

// Listener is an address that takes connections for a backend.
type Listener struct {
	// Name tells it apart in logs and metrics.
	Name string
	// Address is where it listens. Port 0 takes any free port. It must not overlap another listener's or the metrics'
	// once names are looked up: "0.0.0.0" overlaps every address of IPv4, "::" every address.
	Address Address
	// Backend is the name of the backend that its connections go to.
	Backend string
	// MaxConnections is how many connections it has open at a time, at most, on all loops together; further ones
	// wait in the kernel's queue. 0 (default): as many as the limit on open files allows, of which a part is
	// guaranteed to each listener.
	MaxConnections int
}

// Backend is a group of servers that can stand in for each other.
type Backend struct {
	// Name is what listeners refer to.
	Name string
	// Servers are the addresses connections are spread over, at least one.
	Servers []Address
	// ConnectTimeout is how long connecting to a server may take. Default: 5 s.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection may be open with no byte passing in either direction, be it
	// one that a peer acknowledges; 0: for ever. Default: 10 min.
	IdleTimeout time.Duration
	// HalfCloseTimeout is the same after one side has sent its end or was reset; 0: for ever. Default: 30 s.
	HalfCloseTimeout time.Duration
	// Buffer is how many bytes are held for a direction, at most, before reading from its source
	// pauses. Default: 64 KiB. If it is no less than that, bulk may be held in a piece of 256 KiB a
	// direction, or of up to 1 MiB in the kernel, in 16 directions of a loop.
	Buffer Size
}

// The values of the settings that have a closed set of them.
var (
	Rings      = []string{"auto", "io_uring", "epoll"}
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"auto", "json", "console"}
)

// New is the configuration with every default, and no listener and backend.
func New() *Config {
	return &Config{
		Ring:         "auto",
		DrainTimeout: 30 * time.Second,
		Log:          Log{Level: "info", Format: "auto"},
	}
}

// NewBackend is a backend with every default, and neither name nor server.
func NewBackend() Backend {
	return Backend{
		ConnectTimeout:   5 * time.Second,
		IdleTimeout:      10 * time.Minute,
		HalfCloseTimeout: 30 * time.Second,
		Buffer:           64 * KiB,
	}
}
