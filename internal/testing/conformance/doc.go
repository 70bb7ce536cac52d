// Package conformance is the suite that every ring must pass: each operation of package reactor in each situation.
//
// It is a table ([Suite.Run] plays it): a row for each operation, a column for each situation that an operation can get
// into, and in each cell what must come of it, or why there is no such case. A program cannot tell a ring that passes
// from the kernel's.
//
// # Use
//
//	conformance.Suite{On: conformance.Process(cfg)}.Run(t)      // the kernel of the process
//	conformance.Suite{On: conformance.Simulated(cfg, 8)}.Run(t) // simulated kernels, with 8 seeds
//
// TestConformance in package reactor does that for each ring. With -conformance.trace the rings print each entry and
// each completion.
//
// # Guarantees
//
// In each case a loop must also keep its contract: exactly one completion for each start, on the loop's thread, never
// inside Start nor inside a stop request; no byte and no connection lost; and in the end nothing in flight, no buffer
// leased, no timer pending, no descriptor left open, and a Run that returns nil.
//
// A case is played on a host: the process with its kernel, goroutines and time (see [Process]), or a simulated kernel
// with its own threads and clock (see [Simulated]). On simulated kernels a case is played with several seeds; the first
// has no faults. The table says what the result is without faults. What a fault may change of it stands next to the
// fault, in host_faults.go.
//
// # Adding a row
//
// A subject is a func that puts one operation on the stage. All that it and its peers do to the machine goes through
// the stage, which is the host:
//
//   - System calls are methods of the stage, with the names and signatures of package unix: s.Socket, s.Read, s.Poll.
//     A call that is missing is added to calls (host.go), to kernel (host_process.go), and to simring.Process, where a
//     call that waits does so on the calling thread.
//   - A thread is made by s.spawn, and waits by s.newSignal and s.readable; never by a channel, by a mutex that is held
//     while waiting, or by time.Sleep. It reads the time by s.now.
//   - Descriptors that the loop does not own are given to s.own, those of the loop to s.adopt.
//
// The rows of an area are in a separate list, which is added to table. Every row is played on every machine. A case
// that takes long in real time says so (see expectation.in), and is only played where time is simulated.
package conformance
