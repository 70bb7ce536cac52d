// Package stream keeps a bidirectional stream of gRPC open to one of several servers, over the HTTP/2 of the standard
// library. It is the transport of ADS, and knows nothing of it: messages are protobuf messages of any type.
//
// # How to use it
//
// [Run] connects to the first server, opens a stream, and calls a function with it, which sends and receives until the
// stream ends. Then the next server is tried, after a while, and so on until the context is done.
//
//	stream.Run(ctx, &stream.Config{Servers: servers, Method: method}, func(s *stream.Stream) error {
//		go sendRequests(s)
//		for {
//			if err := s.Recv(&response); err != nil {
//				return err
//			}
//		}
//	})
//
// # What it guarantees
//
// There is at most one connection at a time. A stream exists when the connection does, TLS included: a server that says
// nothing is connected, and [Stream.Recv] waits. A server that does not answer pings has lost the connection.
//
// The files of TLS and of tokens are read for each stream. A stream that is open keeps what it began with, also
// when its certificate expires: servers verify certificates and tokens when a stream begins.
//
// Nothing is read ahead of [Stream.Recv] but the window of HTTP/2, so a server that sends faster than its messages are
// applied has to wait. A message is not allocated before its bytes arrive, and is bounded.
//
// After each round of servers without a response the next wait is longer, up to a limit. Each wait is random between
// nothing and that, so that many clients of one server do not come back together. Only a response makes waits short
// again.
//
// When Run has returned, its connection is closed.
//
// # Threads
//
// Run occupies its goroutine. Send is called by one goroutine at a time, Recv by one at a time; both may be called
// together.
//
// # Files
//
//	run.go       Run: one server after the other
//	turns.go     whose turn it is, and how long to wait before
//	dial.go      connections: TCP, unix sockets, TLS
//	stream.go    Stream: sends and receives
//	frame.go     messages with their lengths
//	status.go    how streams end
//	metadata.go  what requests carry: tokens
//	tls.go       TLS settings from files
package stream
