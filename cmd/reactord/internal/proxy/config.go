package proxy

import (
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// Config is what a proxy has for its life. All else is in its plan.
type Config struct {
	Ring      reactor.RingKind
	Loops     int            // 0: one for each CPU
	Pin       bool           // bind each loop to a CPU
	MinWait   time.Duration  // see [reactor.LoopConfig]
	Log       *zap.Logger    // nil: nowhere
	Inherited []ListenSocket // sockets that the process was given; [Start] takes them over
	Tickets   *certs.Tickets // the keys of session tickets; nil: new ones
	// Health is what the process before this one has known of servers.
	Health upstream.Handover
	// KeepFiles leaves the files of unix sockets where they are when the proxy ends: the service manager keeps the sockets
	// for a process to come.
	KeepFiles bool
	// OnDown is called, on a loop, when the connections to a server are reset because it is down (close_on_down). It may
	// be nil.
	OnDown func(backend string, server netip.AddrPort)
	// OnSlowTurn is told of turns of a loop that last too long: see [reactor.LoopConfig]. nil: package log is.
	OnSlowTurn func(reactor.SlowTurn)

	// For tests.
	pairs  int    // pairs of descriptors for connections; 0: as many as the process has
	seed   uint64 // of the choice of servers, and of the times of checks; 0: random
	ports  int64  // for sessions of UDP; 0: three quarters of the kernel's
	memory memorySource
}
