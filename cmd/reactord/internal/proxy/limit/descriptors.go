package limit

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// spare returns how many descriptors the budget leaves to what is not a proxied connection: logs, discovery, health
// checks, and the HTTP servers, which have 128 connections at most. Where descriptors are scarce it leaves less.
func spare(limit int) int { return min(max(limit/8, 64), 192) }

// FreeDescriptors returns how many descriptors the process has for connections and listeners. The limit is the hard
// one: the Go runtime has raised the soft limit to it.
func FreeDescriptors() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt32
	}
	used := 0
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		used = len(entries)
	}
	most := int(min(limit.Cur, 1<<30))
	return max(most-used-spare(most), 0)
}
