// Package accesslog writes the access log: a line for each connection, when it ends.
//
// # How to use it
//
// [Open] opens a log by its settings. Loops fill a [Record] and call [Writer.Log]. [Writer.Reopen] reopens the file
// after it was renamed. [Writer.Close] writes what is queued, and ends the log.
//
// # What it guarantees
//
// Log never waits, takes no lock and does not allocate. It copies the record into a queue of fixed size. One
// goroutine formats the queued records and appends whole lines to the file, many with one call, so that several
// processes may share a file; or sends them to a socket.
//
// If that accepts nothing, because a disk is full, a pipe has no reader or a log server is down, the queue fills up,
// and further lines are dropped. They are counted, and reported in the daemon's log at most once a second. Nothing else
// is lost but what a socket had accepted when its connection broke: queued records are written as soon as possible, or
// dropped and counted a second after Close.
//
// Foreign text, such as names in a ClientHello and in certificates, cannot break a line or look like another field:
// see [Writer.Log].
//
// # Threads
//
// Log may be called on any thread. Reopen and Close may be called from any goroutine.
//
// # Files
//
//	record.go  Record, which describes a connection
//	writer.go  Writer, and its goroutine
//	queue.go   the queue of records from the loops to the writer
//	target.go  where lines go
//	file.go    files, pipes and the standard output
//	socket.go  sockets of other programs
//	fields.go  the fields that a line may have
//	json.go    the format json
//	tcplog.go  the format tcplog
//	text.go    the format text
//	syslog.go  the headers of syslog
//	tcp.go     what the kernel knows of a TCP connection, and its fields
//	clock.go   formats times
package accesslog
