// Package logging provides the daemon's logger: zap, as JSON for machines or as lines for people, behind a queue that
// never makes a loop wait.
//
// # How to use it
//
// [New] returns a [Log]: the logger, its level, which may be changed at any time, and its last lines ([Recent]), for
// the status page. [Log.Close] ends it.
//
// # What it guarantees
//
// The methods of the logger may be called on any thread, including those of loops. A line is formatted and put into a
// queue in memory, which one goroutine writes. If the reader of the log is so slow that the queue is full, lines are
// dropped, and callers do not wait. Once there is room again, the log says how many were dropped. Sync returns when
// everything queued before is written.
package logging
