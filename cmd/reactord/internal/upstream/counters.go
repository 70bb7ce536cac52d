package upstream

import (
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// counters counts events of a server, in a few additions for each connection.
type counters struct {
	_ [64]byte
	stats.ServerCounts[atomic.Uint64]
	failures [len(reasons)]atomic.Uint64
	inARow   atomic.Int32 // consecutive failures
	_        [64]byte
}
