package proxy

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// Config says what to proxy. Names are unique among their kind.
type Config struct {
	Listeners []Listener
	Backends  []Backend
	Ring      reactor.RingKind
	Loops     int           // 0: one for each CPU
	Pin       bool          // bind each loop to a CPU
	MinWait   time.Duration // see reactor.LoopConfig
	Log       *zap.Logger

	pairs int // connections that there are descriptors for; 0: as many as the process has
}

// Listener is an address that connections are accepted on.
type Listener struct {
	Name           string
	Address        netip.AddrPort // port 0: any free one
	Backend        string         // name of the backend
	MaxConnections int            // on all loops together; 0: as many as there are descriptors for
}

// Backend is a set of servers that are as good as each other: round-robin with failover. A loop has one rotation for
// each listener, from which every attempt to connect takes the next turn, also those after a server that failed.
type Backend struct {
	Name             string
	Servers          []Server
	ConnectTimeout   time.Duration // for one server; then the next is tried
	IdleTimeout      time.Duration // without a byte either way, be it one that a peer acknowledges
	HalfCloseTimeout time.Duration // the same, once one side has ended its direction or was reset
	Buffer           int           // bytes that may wait in each direction
}

// Server is where connections go.
type Server struct {
	Name    string
	Address netip.AddrPort
}

// Defaults for what a Backend leaves zero.
const (
	DefaultConnectTimeout   = 5 * time.Second
	DefaultIdleTimeout      = 10 * time.Minute
	DefaultHalfCloseTimeout = 30 * time.Second
	DefaultBuffer           = 64 << 10
)

func (b Backend) withDefaults() Backend {
	if b.ConnectTimeout <= 0 {
		b.ConnectTimeout = DefaultConnectTimeout
	}
	if b.IdleTimeout <= 0 {
		b.IdleTimeout = DefaultIdleTimeout
	}
	if b.HalfCloseTimeout <= 0 {
		b.HalfCloseTimeout = DefaultHalfCloseTimeout
	}
	if b.Buffer <= 0 {
		b.Buffer = DefaultBuffer
	}
	return b
}
