// Package proxy is the data path of reactord. It accepts TCP connections, connects each to a server of its backend, and
// carries the bytes in both directions until both sides have sent EOF.
//
// # How to use it
//
// [Start] runs a proxy as its [Config] says. [Proxy.Stats] reads its counters. [Proxy.Drain] stops accepting and waits
// for the connections to end; [Proxy.Close] resets them. The methods of a Proxy may be called from any goroutine.
//
// # What it guarantees
//
// Bytes are neither lost nor reordered. EOF (FIN) becomes EOF, and the other direction still flows. A reset (RST)
// becomes a reset, behind the bytes that came before it.
//
// If a server cannot be reached, the connection fails over to another one, as often as the backend's Retries and its
// retry budget allow; never to one that it has tried. What this machine lacks, a descriptor or a local port, is not
// blamed on a server. The limits on the connections of a backend and of its servers are exact, for all loops together.
// Connections beyond them wait in the backend's queue: in order on each loop, while the loops take turns. A connection
// leaves the queue when its time has passed, or when the client resets it. A client that has only sent EOF may still wait
// for an answer, so it stays.
//
// At most Backend.Buffer bytes are in flight in each direction: then the sender is not read from until the receiver has
// taken some. There are two exceptions if Backend.Buffer is 64 KiB or more. Bulk is received in pieces of up to 256
// KiB; and in up to 16 directions of a loop at a time, bulk goes through kernel pipes of up to 1 MiB, by splice(2).
//
// Listener.MaxConnections is exact, for all loops together. The descriptors of the process are one budget. Half of it
// is guaranteed to the listeners, in equal parts. The other half is for the connections and splices that need it first.
// If a listener has no room, further connections wait in the kernel's queue, and are accepted as soon as there is room,
// whichever loop they are queued on. If descriptors run out nevertheless, accepting backs off for
// [reactor.AcceptBackoff], and open connections still flow. When a drain begins, the connections that are already
// queued are accepted beyond the limits: otherwise they would be reset.
//
// # Threads
//
// A connection lives on the loop that accepted it, with both of its sockets. Only that loop's thread touches its conn.
// A worker is everything that one loop has.
//
// # Files
//
//	proxy.go        Proxy: start, drain, close
//	config.go       Config: listeners and backends
//	worker.go       what one loop has, with the pools of what connections need only at times
//	listener.go     accepts connections
//	admission.go    the limits on connections, and the listeners that wait for room
//	descriptors.go  the listeners and connections that wait for a descriptor
//	connect.go      gives a connection a server: the first attempt, and the task of what follows
//	queue.go        connections that wait for room in a backend; what a worker has for a backend
//	line.go         where tasks of a loop wait in order
//	sources.go      local addresses to connect from
//	conn.go         a connection and its phases
//	pipe.go         a direction of a connection, its states and its regimes
//	transfer.go     sends the bytes of a direction
//	splice.go       moves the bulk of a direction through the kernel only
//	reset.go        tells resets from EOF, and passes them on
//	idle.go         the timeouts of open connections
//	connections.go  lists and closes connections
//	ends.go         how connections end
//	stats.go        the counters
package proxy
