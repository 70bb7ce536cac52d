package upstream

import "sync/atomic"

// counters counts events of a server, in a few additions for each connection.
type counters struct {
	_           [64]byte
	connections atomic.Uint64 // successful connects
	retries     atomic.Uint64
	failures    [len(reasons)]atomic.Uint64
	inARow      atomic.Int32 // consecutive failures
	_           [64]byte
	transitions atomic.Uint64 // of the state
	ejections   atomic.Uint64
}
