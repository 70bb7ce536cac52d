// Package load is the load side of a measurement: clients in a closed loop, and the server that
// echoes for the proxies, both on one thread over one epoll(7) set.
//
// # What it does
//
// Each of Plan.Conns clients sends a message of Plan.Size bytes, waits until that many bytes have come
// back, and sends the next; so each connection has one message under way, and the faster side waits
// for the slower. A run has three phases:
//
//	verify   each client sends Plan.Verify messages, each with bytes of its own, and compares what
//	         comes back with what it sent
//	warm-up  the load runs for Plan.Warmup and nothing is counted
//	measure  messages, elapsed time and the CPU time of the processes Plan.Pids are taken for
//	         Plan.Time
//
// With Plan.Hold the connections then stay idle until the run is released. In every phase a reply
// that is longer than its message, a reset, or an end of stream fails the run.
//
// # Why it is written on bare system calls
//
// Client and upstream share a core that must not become the slower side. After the connections are
// made, a message costs one receive and one send and its share of an epoll_wait; nothing is
// allocated, nothing is handed to another thread, and the clock is not read.
//
// A Driver belongs to one goroutine, locked to its thread.
package load
