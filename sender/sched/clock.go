package sched

import (
	"math"
	"time"
)

var epoch = time.Now()

// monotonic reads the clock of all resources of this package: nanoseconds since the process began. It is negative in a
// testing/synctest bubble, whose clock is behind.
func monotonic() int64 { return int64(time.Since(epoch)) }

// until returns the duration from now to deadline; 0 if that has passed, and the longest duration if it is too long.
func until(deadline, now int64) time.Duration {
	if deadline <= now {
		return 0
	}
	if d := deadline - now; d > 0 {
		return time.Duration(d)
	}
	return math.MaxInt64
}

// after returns now + d, or the largest time if that is too large; now, if d is negative.
func after(now int64, d time.Duration) int64 {
	if at := now + int64(max(d, 0)); at >= now {
		return at
	}
	return math.MaxInt64
}
