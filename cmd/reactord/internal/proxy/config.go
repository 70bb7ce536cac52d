package proxy

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// Config is what a [Proxy] does. The names of the listeners are unique, and so are those of the backends.
type Config struct {
	Listeners []Listener
	Backends  []Backend
	Ring      reactor.RingKind
	Loops     int           // 0: one for each CPU
	Pin       bool          // bind each loop to a CPU
	MinWait   time.Duration // see [reactor.LoopConfig]
	Log       *zap.Logger

	pairs int // pairs of descriptors for connections; 0: as many as the process has
}

// Listener is an address on which connections are accepted.
type Listener struct {
	Name           string
	Address        netip.AddrPort // port 0: any free one
	Backend        string         // name of the backend
	MaxConnections int            // on all loops together; 0: as many as there are descriptors for
}

// Backend is a group of servers that can stand in for each other: round-robin with failover. Each loop has one rotation
// for each listener. Every attempt to connect takes the next turn of it, a retry too.
type Backend struct {
	Name             string
	Servers          []Server
	ConnectTimeout   time.Duration // for one server; then the next one is tried
	IdleTimeout      time.Duration // without a byte received, sent or acknowledged in either direction
	HalfCloseTimeout time.Duration // the same, after one side has sent EOF or was reset
	Buffer           int           // bytes in flight in each direction, at most; package comment: exceptions
}

// Server is an address that a backend connects to.
type Server struct {
	Name    string
	Address netip.AddrPort
}

// The defaults of the fields of a [Backend] that are zero.
const (
	defaultConnectTimeout   = 5 * time.Second
	defaultIdleTimeout      = 10 * time.Minute
	defaultHalfCloseTimeout = 30 * time.Second
	defaultBuffer           = 64 << 10
)

func (b Backend) withDefaults() Backend {
	if b.ConnectTimeout <= 0 {
		b.ConnectTimeout = defaultConnectTimeout
	}
	if b.IdleTimeout <= 0 {
		b.IdleTimeout = defaultIdleTimeout
	}
	if b.HalfCloseTimeout <= 0 {
		b.HalfCloseTimeout = defaultHalfCloseTimeout
	}
	if b.Buffer <= 0 {
		b.Buffer = defaultBuffer
	}
	return b
}
