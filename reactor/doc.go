// Package reactor runs socket, file and timer operations on loops: one OS thread each, over one ring.
//
// # The contract
//
// A Loop does everything on the thread that called Run: it takes completions, expires timers, runs
// what other threads posted, and sleeps in the ring when there is nothing to do. Operations are
// senders (see package sender). Connect prepares an operation state, in storage that the caller owns:
// it is a submission entry and what it takes to cancel it. Start publishes the entry. The receiver is
// called on the loop's thread, exactly once per Start, never inside Start and never inside a stop
// request; when it is called the operation state is idle, and may be connected or started again.
//
// Operation states live on the heap, embedded in what they belong to: a server allocates once a
// connection and never an operation. Memory that an operation uses belongs to it from Start until its
// completion.
//
// # Threads
//
// Every operation is started on its loop's thread. Code elsewhere gets there by Enqueue, or by
// sender.Schedule. Only what says so may be called from any thread.
//
// # Cancelling
//
// A stop request (see package stop) never completes anything: it submits an entry that cancels, and
// the operation completes when both that entry and its own are done. The result wins: what succeeded
// before the cancel reached it is delivered, so that no connection and no byte is lost. Otherwise the
// operation completes stopped.
//
// # Errors
//
// SetError carries a syscall.Errno, or net.ErrClosed if the socket was closed under the operation.
//
// # Ending
//
// Sockets count their operations, and Socket.Close joins them before it closes the descriptor.
// Loop.Stop cancels everything in flight and ends the loop when nothing is left; should something
// never complete, its memory is leaked and counted, not freed.
package reactor
