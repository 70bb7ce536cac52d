// Package proxy is the data path of reactord. It accepts TCP connections, connects each to a server of its backend, and
// carries the bytes in both directions until both sides have sent EOF.
//
// # How to use it
//
// [Start] runs a proxy with a first plan. A Proxy is a [plan.Target]: [Proxy.Prepare] makes what another plan adds, and
// the change is committed or discarded. [Proxy.Stats] reads its counters, [Proxy.Connections] lists connections.
// [Proxy.Explain] says what would become of a connection, and a [Preview] says it of a plan that nothing runs by.
// [Proxy.Drain] ends it in phases; [Proxy.Close] resets all connections. [Proxy.ListenSockets] and
// [Proxy.StopAccepting] leave accepting to another process, and [Proxy.HandOver] the open connections, which that takes
// by [Proxy.TakeOver]. The methods of a Proxy may be called from any goroutine;
// Prepare, Commit and Discard from one at a time.
//
// # What it guarantees
//
// Bytes are neither lost nor reordered. EOF (FIN) becomes EOF, and the other direction still flows. A reset (RST)
// becomes a reset, behind the bytes that came before it. With TLS on a side, close_notify is its EOF; an EOF without it
// is passed on as a reset, because the stream may have been cut off, unless the server has ended before the client.
//
// Urgent data (MSG_OOB) is not passed on: the byte is dropped, as by HAProxy, and nothing else.
//
// If a server cannot be reached, the connection fails over to another one, as often as the backend's Retries and its
// retry budget allow; never to one that it has tried. A server is not blamed when this machine lacks a descriptor or a
// local port, nor when it may have refused the client: see setup_fault.go. The limits on the connections of a backend
// and of its servers are exact, for all loops together. Connections beyond them wait in the backend's queue: in order
// on each loop, while the loops take turns. A connection leaves the queue when its time has passed, or when the client
// resets it. A client that has only sent EOF may still wait for an answer, so it stays. With Hold, connections wait
// there also while there is no server for them: see setup_hold.go.
//
// At most Buffer bytes of the backend's settings are in flight in each direction: then the sender is not read from
// until the receiver has taken some. With a Buffer of 64 KiB or more, bulk may exceed it: it is received in pieces of
// up to 256 KiB, and in up to 16 directions of a loop at a time, bulk goes through kernel pipes of up to 1 MiB, by
// splice(2).
//
// # Setting up
//
// A listener that needs nothing of a client connects to its backend immediately. Otherwise the connection is opened
// first: its PROXY header is consumed, a STARTTLS preamble is answered, the ClientHello is read and left as it is, or
// TLS begins. Nothing is received that this does not need, except what came with it: the early bytes. They are kept
// until a server has taken them, behind the PROXY header for it; a server that resets, refuses or is silent until then
// has failed, and another one gets them. A connected server that is given up is reset, because it would take EOF behind
// the early bytes for the client's end.
//
// # UDP
//
// A UDP listener has sessions (see package udp), which are connections to the limits, the counters and the lists. They
// have a server from the beginning: a datagram that would have to wait for one is dropped. A reload keeps them with
// their settings; the sessions of a listener that is gone end with it. When another process receives, they move to it,
// or pass on replies until they end.
//
// # Plans
//
// A plan that cannot be prepared leaves nothing open, and everything is as before. Committing cannot fail. A listener
// that keeps its key keeps its sockets, connections, counters and rates, also if its name changes. Its new settings
// apply to new connections immediately; a connection keeps the settings of its backend with which it was accepted.
//
// A listener that is gone accepts what is queued, whatever the limits, because closing the socket would reset it; and
// then its sockets are closed. Its connections are left alone: they end by themselves or by their timeouts, and no
// drain applies to them before the process drains. When the last has ended, nothing is left of the listener.
//
// An address that another process listens on is refused, although the kernel would share it. That is not noticed if
// this process itself has an address that overlaps it.
//
// # Limits
//
// The limits on connections of the process and of a listener are exact, for all loops together. The descriptors of the
// process, or Limits.MaxConnections if that is less, are one budget. Half of it is guaranteed to the listeners, in
// equal parts. The other half is for the connections that need it first. A plan with other listeners divides it again:
// a listener gets its part as soon as others have given back what they have of it. A few descriptors are left to logs,
// the admin API, discovery and health checks.
//
// If a listener has no room, further connections wait in the kernel's queue, and are accepted as soon as there is room,
// whichever loop they are queued on; or with on_limit: reject they are accepted and reset. The same holds beyond the
// rates of the process and of the listener, which are exact, too. Beyond the rate of a client prefix connections are
// always reset; that rate is exact as long as the table has an entry for the prefix. If descriptors run out
// nevertheless, accepting backs off for [reactor.AcceptBackoff], and open connections still flow. While memory is
// short, idle timeouts are shorter: see proxy_pressure.go.
//
// When a drain begins, the connections that are already queued are accepted beyond the limits: otherwise they would be
// reset.
//
// # Threads
//
// A connection lives on the loop that accepted it, with both of its sockets. Only that loop's thread touches its conn.
// A worker is everything that one loop has. A listener is one loop's part of a listener of the plan; a sharedListener
// is what the loops share. Sockets are opened on the planner's goroutine and belong to their loop from listener.start
// on.
//
// # Files
//
// Files of one concern share a prefix:
//
//	proxy     what the process has one of: start, drain, counters, memory
//	plan      puts a plan in force
//	accept    sockets of listeners, and accepting
//	setup     from an accepted connection to one with a server
//	conn      a connection: its phases, its identity, its record, its end; lists of connections and sessions
//	flow      bytes between the two sides: pipes, splicing, resets, timeouts
//	tls       connections with TLS
//	handover  connections that move to another process
//	udp       sessions
//	explain   what would become of a connection, and why
//
// A worker (worker.go) is what one loop has; worker_descriptors.go waits for descriptors. An association
// (association.go) is what connections and sessions have in common. Package limit decides whether there is room, and
// who waits for it.
package proxy
