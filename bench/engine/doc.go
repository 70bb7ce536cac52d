// Package engine generates load without coordinated omission, and records what the target does under it.
//
// # How to use it
//
// [New] makes a [Generator] from a [Config]: the target, the number of connections, and the parts of the load.
// [Generator.Open] opens the connections, each [Generator.Run] generates load for one [Phase], and
// [Generator.Close] ends it. A [Mode] is what the connections of a part do. There is one file for each:
//
//	mode_echo       messages that come back; in an open loop this is the mode rate
//	mode_connect    connections that are opened and closed
//	mode_stream     bulk up, down or both ways
//	mode_hold       connections that stay open
//	mode_udp        numbered datagrams
//	mode_slow       messages that are written or read piece by piece
//	mode_halfclose  a half-close while the other direction still has bytes
//	mode_http       HTTP/1.1
//	mode_redis      RESP
//	scenario        several of these together, with weights
//
// # How it works
//
// A Generator has a number of loops (package reactor), each on its own thread. The connections are distributed over
// them. A connection is one struct with its operation states inside. Once it is open, a message costs one receive
// and one send. It allocates nothing, takes no lock and does not move to another thread. What a connection does is
// decided by its session; the Mode makes the session.
//
// # Closed and open loops
//
// In a closed loop a connection gets its next piece of work when the previous one has completed, so the target sets
// the pace. When the target stalls for a second, no messages are sent during that second, and only one sample of each
// connection shows the stall.
//
// In an open loop the times at which messages are due are fixed in advance (file schedule). A message that is due while
// every connection waits for a reply is sent as soon as a connection is free. Its latency counts from the time at which
// it was due. So a stall of one second shows in every message that was due during that second. The service time, which
// counts from the time at which the message was sent, is recorded next to it.
//
// # Phases
//
// At the end of a phase no new message is sent. The phase then waits for the replies that are outstanding and for the
// messages that were due, but at most for its Patience. After that, a message that was not sent counts as
// [record.Unsent], and a message without a reply as [record.Timeout]. So no sample is dropped because the target
// was slow.
//
// # Failures
//
// A failure is counted by its kind, and closes its connection. The connection is opened again after a backoff. When
// only failures have occurred for Config.GiveUp, the phase ends with [ErrNoProgress] and returns what it has recorded.
//
// # TLS
//
// For a tls:// target each connection runs crypto/tls in a coroutine (package sender/task), on the same loop and
// thread as everything else.
package engine
