// Package proxy is the data path of reactord: it accepts TCP connections, connects each to a server of
// its backend, and carries the bytes both ways until both ends have said so.
//
// # What it promises
//
// Bytes are neither lost nor reordered, and at most Backend.Buffer of them wait in each direction: then
// the sender is not read from until the receiver has taken some. If that is 64 KiB or more, bulk is moved in pieces of
// up to 256 KiB, or, in 16 directions of each loop at a time, by splice(2) through a pipe of up to 1 MiB. An end (FIN) becomes an end, with the
// other direction still flowing; a reset (RST) becomes a reset, behind the bytes that came before it. A
// server that cannot be reached is passed over for the next one.
//
// Listener.MaxConnections is exact, on all loops together. The descriptors of the process are one budget: half of them
// is guaranteed to the listeners in equal parts, the other half is for whoever needs them first, pipes of splices
// included. A listener without room leaves further connections in the kernel's queue, and accepts them as soon as there
// is some, whichever loop they wait on. When descriptors run out nevertheless, accepting rests and the connections that
// stand keep flowing. Only what waits when a drain begins is accepted beyond the limits: else it would be reset.
//
// # Threads
//
// A connection lives on the loop that accepted it, both of its sockets included: a conn is touched by
// that loop's thread only. A worker is all that one loop has. Proxy's methods may be called from any
// goroutine.
//
// # Where to find what
//
//	proxy.go      Proxy: starting, draining, ending
//	worker.go     what one loop has
//	admission.go  how many connections there may be; who waits for room
//	accept.go     from a listener to a conn
//	dial.go       from a conn to a server
//	conn.go       a connection: timeouts, resets, the end
//	pipe.go       one direction of it
//	splice.go     bulk, through the kernel alone
//	watch.go      for a reset after an end
//	stats.go      what is counted
package proxy
