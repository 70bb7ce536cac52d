// Package server serves connections on all loops of package reactor, with handlers or with tasks.
//
// # Which style
//
//   - A [Handler] is called with leased bytes that have arrived, and appends what is to be sent: [Serve]. It is the
//     fastest style, and an idle connection costs a few hundred bytes. The protocol is written as a parser that can be
//     called again with more.
//   - A task is a function for each connection, in direct style, with a net.Conn: [ServeTask]. Libraries written for
//     package net run in it, TLS too.
//
// [New], [NewTask] and [Server.On] serve on loops that the program has, together with other work.
//
// # Threads
//
// Each loop has its own listener, handler and connections, which stay there. All that is called for a connection is
// called on its loop's thread, one at a time, so handlers need no lock. They must not block: every other connection of
// the loop would wait. Work that blocks goes elsewhere, with the connection paused, and comes back by [Conn.Post]:
//
//	c.Pause()
//	go func() {
//		answer := slow()
//		c.Post(func(c *server.Conn) { c.Write(answer); c.Resume() })
//	}()
//
// The methods of a connection may be called by the callbacks of others of the same loop, as a chat does. Off the loop's
// thread they panic; only Post may be called anywhere.
//
// # Bytes in
//
// Data gets a lease of the receive buffer itself. It returns how many bytes it has used; the others are unread. They
// are kept, and are presented again with what follows, in one piece. So a handler sees its messages contiguous, however
// they were cut on the way. [Frames] finds messages by a length field, by a delimiter, or by lines. A handler that
// knows how much is missing says so by [Conn.Need]; [Conn.Seen] returns how much it has looked at before.
//
// # Bytes out
//
// Bytes that Data returns and Write takes leave with one send at the end of the turn of the loop, or, if a send is in
// flight, with the next one. Returning in, or a part of it, sends it from where it was received (below 4 KiB it is
// copied, which is cheaper).
//
// While more than Config.HighWater bytes are unsent the connection is not read from, so a peer that does not read its
// answers cannot make more of them. Only writes without a request can grow beyond that: look at [Conn.Unsent].
//
// # TLS
//
// With Config.TLS handlers see the plain bytes, and all else is as without it. Open is called when the handshake is
// done; a connection whose handshake fails, or takes longer than Config.HandshakeTimeout, is not given to the handler,
// but counted. [Conn.TLS] has the protocol that ALPN has chosen and the client's certificates. A close_notify is EOF.
// EOF without one may be an attacker's: Closed gets io.ErrUnexpectedEOF. Close sends a close_notify before EOF.
//
// The handshake is a task; what is left behind it is the state of crypto/tls. What is written is encrypted when it is
// about to be sent, so small writes share a record. Unsent counts the records then.
//
// # How a connection ends
//
// Closed is called exactly once, when the connection is closed. If the peer sends EOF, what is unsent is still sent; a
// paused connection is not ended before it is resumed. If the server ends it, by Close, an error or a shutdown, what is
// unsent is sent, then EOF, and the connection is closed when the peer's EOF has come, or after a second.
// CloseWithError, the write deadline and the end of the grace drop what is unsent.
//
// The deadlines are on the loop's clock, and stand still while the loop could not see what peers did (see
// [reactor.Loop.Stalled]). They cost no timer for each connection.
//
// TCP connections have TCP_NODELAY; what leaves together is decided here: see "Bytes out".
//
// A panic of a handler ends its connection only, unless Config.NoRecover is set: it is logged with its stack, and
// counted. The same holds for runtime.Goexit: see [reactor.Loop.Run] about what it costs.
//
// # Shutdown
//
// When ctx is done, or [Server.Shutdown] is called, nothing more is accepted and nothing more is read. What was begun
// is answered: what has been produced is sent, and a connection that is paused may still answer until it is resumed.
// After Config.Grace what is left is closed. Connections that wait in the backlog are ended as idle ones are, and not
// reset, unless the listener is inherited, or Config.MaxConnections is set.
package server
