// Package conformance is the suite that every ring is run through.
//
// It is a table: a row for each operation of package reactor, a column for each situation that one can
// get into, and in each cell what must come of it, or why there is no such case. See table. A ring that
// passes is one that programs cannot tell from the kernel's.
//
// Whatever the cell says, each case also holds the loop to its contract: exactly one completion a start,
// on the loop's thread, never inside Start nor inside a stop request; no byte and no connection lost;
// and in the end nothing in flight, no buffer leased, no timer pending, no descriptor left behind, and a
// Run that returns nil.
//
// # Machines
//
// A case is played on a host, and does not know on which: the process with its kernel, goroutines and
// time (see Process), or a simulated kernel with threads and a clock of its own (see Simulated), where
// the case is played with one seed after the other, and all but the first have faults. What a fault may
// change of an outcome is said in one place, beside the fault; the table says what comes of a case when
// nothing goes wrong.
//
// # Adding a row
//
// A subject is a func that puts one operation on the stage. All that it and its peers do to the machine
// goes through the stage, which is the host:
//
//   - system calls are methods of the stage, with the names and the signatures of package unix: s.Socket,
//     s.Read, s.Poll. One that is missing is added to calls (host.go), to kernel (process.go), and to
//     simring.Process, where those that wait do so on the calling thread.
//   - a thread is made by s.spawn, waits by s.newSignal and s.readable, never by a channel, a mutex held
//     while waiting or time.Sleep, and knows the time by s.now.
//   - descriptors that the loop does not have are given to s.own, those of the loop's to s.adopt.
//
// The rows are in a list of their own, which is added to table. Every one of them is played on every
// machine; what takes long in real time says so (see expectation.in), and is played where time is simulated.
package conformance
