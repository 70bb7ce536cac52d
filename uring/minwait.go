//go:build linux

package uring

import (
	"time"

	"golang.org/x/sys/unix"
)

// manyCompletions end a minimum wait early: larger batches save next to nothing more.
const manyCompletions = 32

// longTimeout replaces no timeout: without a timeout the kernel takes the end of the minimum wait for one.
const longTimeout = time.Hour

// SetMinWait sets how long an [Ring.Enter] that waits takes at least, in steps of 1 µs; 0: no minimum. The timeout, or
// many completions, end it earlier. After the minimum the first completion ends the wait. A [Ring.Wake] also takes
// effect only after it. So there are fewer and larger batches, which cost less CPU, at the price of up to least of
// latency. SetMinWait is called on the ring's thread, or before [Ring.Enable].
//
// If the kernel has no minimum wait ([Caps].MinWait), a sleep before the wait replaces it, which nothing ends early.
func (r *Ring) SetMinWait(least time.Duration) { r.minWait = least.Truncate(time.Microsecond) }

// sleepMinWait sleeps for the minimum wait where the kernel has none, and returns what is left of the timeout.
func (r *Ring) sleepMinWait(timeout time.Duration) time.Duration {
	d := r.minWait
	if timeout > 0 {
		d = min(d, timeout)
		timeout -= d
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // an interruption makes it shorter
	return timeout
}
