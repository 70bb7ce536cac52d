package upstream

import "sync/atomic"

// counters is what the loops count of a server: a few additions a connection.
type counters struct {
	_           [64]byte
	connections atomic.Uint64 // connects that succeeded
	retries     atomic.Uint64
	failures    [len(reasons)]atomic.Uint64
	inARow      atomic.Int32 // failures since the last success
	_           [64]byte
	transitions atomic.Uint64 // of the state
	ejections   atomic.Uint64
}
