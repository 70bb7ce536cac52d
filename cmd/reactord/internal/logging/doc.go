// Package logging makes the daemon's logger: zap, as JSON for machines or as lines for people, behind
// a queue that never makes a loop wait.
//
// # Contract
//
// New gives a logger whose methods may be called from any thread, the loops' included: a line is
// formed and put into a queue in memory, and one goroutine writes the queue out. When the log's reader
// is so slow that the queue is full, lines are dropped rather than waited for, and as soon as there is
// room again a line says how many. Sync returns when everything queued before it has been written;
// Close does so too, and ends the goroutine.
package logging
