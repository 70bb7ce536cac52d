package uring

import (
	"time"

	"golang.org/x/sys/unix"
)

// manyCompletions are enough for a minimum wait to end early: larger batches save next to nothing more.
const manyCompletions = 32

// longTimeout stands for none where the kernel takes the end of a minimum wait for the timeout if there is none.
const longTimeout = time.Hour

// SetMinWait has Enter, when it waits, go on until least has passed since it began to, unless the timeout ends it before
// or many completions are there. Later than that the first completion ends the wait. A Wake is heard of as late as a
// completion. So there are fewer and larger batches, which cost less CPU, for up to least of latency. In steps of 1 µs;
// 0: no minimum. On the ring's thread, or before Enable.
//
// For a kernel that has no such wait (Caps.MinWait) a sleep ahead of the wait stands for it, which nothing ends early.
func (r *Ring) SetMinWait(least time.Duration) { r.minWait = least.Truncate(time.Microsecond) }

// doze sleeps for the minimum wait where the kernel has none, and returns what is left of the timeout.
func (r *Ring) doze(timeout time.Duration) time.Duration {
	d := r.minWait
	if timeout > 0 {
		d = min(d, timeout)
		timeout -= d
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // an interruption makes it shorter
	return timeout
}
