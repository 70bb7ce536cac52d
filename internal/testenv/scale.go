package testenv

import "testing"

// Seeds is how many seeds of a simulation a test plays: n, and with -short a thirtieth of them, but two at least. The
// tests of a simulation run once in full. The race detector, and a machine without io_uring, find little in another
// run of them: one thread of a simulation runs at a time, and it does not touch the machine.
func Seeds(n uint64) uint64 {
	if testing.Short() {
		return max(n/30, min(n, 2))
	}
	return n
}
