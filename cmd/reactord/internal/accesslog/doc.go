// Package accesslog writes the access log: a line for each connection, when it ends.
//
// # How to use it
//
// [Open] opens a log as its settings say. Loops fill a [Record] and call [Writer.Log]. [Writer.Reopen] opens the file
// anew after it was renamed. [Writer.Close] writes what is queued, and ends the log.
//
// # What it guarantees
//
// Log never waits, takes no lock and does not allocate. It copies the record into a queue of fixed size. One goroutine
// formats what is queued, and writes it: whole lines, many with one call, at the end of the file. So several processes
// may write to one file.
//
// If the file takes nothing, because a disk is full or a pipe has no reader, the queue fills up, and further lines are
// dropped. They are counted, and a line of the daemon's log says how many, once a second at most. Nothing else is lost:
// what is queued is written as soon as the file takes it, or dropped and counted likewise a second after Close.
//
// What comes from outside, as the names in a ClientHello and in certificates, cannot break a line, or look like another
// field: see [Writer.Log].
//
// # Threads
//
// Log may be called on any thread. Reopen and Close may be called from any goroutine.
//
// # Files
//
//	record.go  Record: what is known of a connection
//	writer.go  Writer, and its goroutine
//	queue.go   the queue between them
//	file.go    opens files, pipes and the standard output
//	fields.go  the fields that a line may have
//	json.go    the format json
//	tcplog.go  the format tcplog
//	text.go    the format text
//	clock.go   times
package accesslog
