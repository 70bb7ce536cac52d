// Package engine makes load, and measures how a target bears it.
//
// # How it works
//
// A [Generator] has a number of loops (package reactor), each on a thread of its own, and deals the
// connections out to them. A connection is one struct with its operation states inside: after it has
// been opened, a message costs one receive and one send, allocates nothing, takes no lock and is
// handed to no other thread. What a connection does is its session's business, and a [Mode] is the
// type of it: one file each.
//
//	mode_echo       messages that come back; in an open loop this is the mode rate
//	mode_connect    connections that are opened and closed
//	mode_stream     bulk up, down or both ways
//	mode_hold       connections that stay
//	mode_udp        numbered datagrams
//	mode_slow       messages that come piece by piece
//	mode_halfclose  an end in one direction while the other still has bytes
//	mode_http       HTTP/1.1
//	mode_redis      RESP
//	scenario        several of these at once, with weights
//
// # Closed and open loops
//
// In a closed loop a connection gets its next piece of work when it has done the last one, so the
// target sets the pace: a target that stalls for a second is asked nothing meanwhile, and one sample a
// connection shows it. In an open loop the moments at which messages are meant to be sent are fixed
// beforehand (file schedule). A message that is due while all connections wait for replies is sent as
// soon as one is free, and its latency counts from the moment at which it was meant to be sent. So the
// second that the target stalled shows in all the messages that fell into it. The service time, which
// counts from the moment at which it really was sent, is recorded beside it.
//
// # Phases
//
// Open opens the connections; each Run makes load for a while. At the end of a phase no new message
// begins, and those under way, with those that were due, are waited for, but no longer than the
// phase's Patience. What is not sent by then counts as [record.Unsent], what is not answered as
// [record.Timeout]. So no sample of a bad end is lost.
//
// # Failures
//
// A failure is counted by kind and closes its connection, which is opened again after a pause. When
// for Config.GiveUp nothing but failures has come, the phase ends with [ErrNoProgress], and what was
// found until then.
//
// # TLS
//
// tls:// targets are spoken to by crypto/tls inside of a coroutine of each connection (package
// sender/task), on the same loop and thread as everything else.
package engine
