package sched

import (
	"math"
	"time"
)

var epoch = time.Now()

// monotonic is the clock of all resources of this package: nanoseconds since the process began. It is
// negative in a testing/synctest bubble, whose clock is behind.
func monotonic() int64 { return int64(time.Since(epoch)) }

// until is how long it is until deadline, or as long as can be.
func until(deadline int64) time.Duration {
	now := monotonic()
	if d := deadline - now; d > 0 || deadline <= now {
		return time.Duration(d)
	}
	return math.MaxInt64
}

// after is now + d, or the end of time.
func after(now int64, d time.Duration) int64 {
	if at := now + int64(d); d <= 0 || at > now {
		return at
	}
	return math.MaxInt64
}
