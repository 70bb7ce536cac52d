// Package proxy is the data path of reactord: it accepts TCP connections, connects each to a server of
// its backend, and carries the bytes both ways until both ends have said so.
//
// # What it promises
//
// Bytes are neither lost nor reordered, and at most Backend.Buffer of them wait in each direction: then
// the sender is not read from until the receiver has taken some. If that is 64 KiB or more, bulk is moved in pieces of
// up to 256 KiB, or, in 16 directions of each loop at a time, by splice(2) through a pipe of up to 1 MiB. An end (FIN) becomes an end, with the
// other direction still flowing; a reset (RST) becomes a reset, behind the bytes that came before it. A
// server that cannot be reached is passed over for the next one. When descriptors run out, accepting
// rests and the connections that stand keep flowing.
//
// # Threads
//
// A connection lives on the loop that accepted it, both of its sockets included: a conn is touched by
// that loop's thread only. A worker is all that one loop has. Proxy's methods may be called from any
// goroutine.
//
// # Where to find what
//
//	proxy.go    Proxy: starting, draining, ending
//	worker.go   what one loop has
//	accept.go   from a listener to a conn; admission
//	dial.go     from a conn to a server
//	conn.go     a connection: timeouts, resets, the end
//	pipe.go     one direction of it
//	splice.go   bulk, through the kernel alone
//	watch.go    for a reset after an end
//	stats.go    what is counted
package proxy
