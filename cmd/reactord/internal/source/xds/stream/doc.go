// Package stream keeps a bidirectional gRPC stream open to one of several servers, over the HTTP/2 of the standard
// library. It is the transport of ADS but independent of it: messages are protobuf messages of any type.
//
// # How to use it
//
// [Run] connects to the first server, opens a stream, and calls a function with it, which sends and receives until
// the stream ends. After a delay, the next server is tried, and so on until the context is done.
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
// There is at most one connection at a time. A stream exists once the connection is established, TLS included: a
// silent server counts as connected, and [Stream.Recv] waits. A server that does not answer pings has lost the
// connection.
//
// TLS files and tokens are read for each stream. An open stream keeps what it started with, even when its certificate
// expires: servers verify certificates and tokens when a stream begins.
//
// Nothing beyond the HTTP/2 window is read ahead of [Stream.Recv], so a server that sends faster than its messages
// are applied has to wait. Messages are limited, and not allocated before their bytes arrive.
//
// After each round of servers without a response, the delay grows, up to a limit. Each delay is random between
// nothing and the limit, so that many clients of a server do not return together. Only a response resets it.
//
// When Run returns, its connection is closed.
//
// # Threads
//
// Run occupies its goroutine. Send is called by one goroutine at a time, and Recv by one at a time; the two may run
// concurrently.
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
