// Package logging makes the daemon's logger: zap, as JSON for machines or as lines for people, behind a queue that
// never makes a loop wait.
//
// # How to use it
//
// [New] makes a [Log]: the logger, its level, which may be changed while it is used, and its last lines ([Recent]), for
// the status page. [Log.Close] ends it.
//
// # What it guarantees
//
// The methods of the logger may be called on any thread, those of the loops included. A line is formatted and put into
// a queue in memory; one goroutine writes the queue. If the reader of the log is so slow that the queue is full, lines
// are dropped, and no caller waits. As soon as there is room again, a line of the log says how many were dropped. Sync
// returns when everything that was queued before is written.
package logging
