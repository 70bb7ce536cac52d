// Package uring is the kernel's io_uring: the layout of its entries, and a Ring that speaks it.
//
// # The contract of a ring
//
// Work goes in as a submission entry (SQE, 64 bytes) that names an operation, its arguments and an
// opaque user_data. What becomes of it comes out as completions (CQE, 16 bytes) that carry the same
// user_data, a result (a count or a descriptor, or a negative errno) and flags. A completion with
// CQEMore says that the entry stays armed and more completions will follow; the first one without
// it is the entry's final completion, and only then may its memory and its user_data be used again.
// Cancelling is an entry like any other (OpAsyncCancel); what it reaches completes with -ECANCELED,
// or with its result if that was quicker.
//
// Package epoll speaks the same contract over epoll(7), so everything above the rings is written
// once.
//
// # How an entry gets to the kernel
//
// Push queues it, and Enter submits all that is queued with one system call, which costs less the more there are. A
// send that is alone would have that call to itself, so Push makes it by send(2), and Pop returns its completion at once.
//
// # Threads
//
// A Ring belongs to the thread that calls Enable. Push, Enter, Pop, ProvideBuffer and Close are
// called on that thread only. Wake may be called from any thread at any time, also after Close.
//
// # Memory
//
// A submission entry holds addresses as integers, which neither keep memory alive nor move with it.
// What an entry points to must be heap or mapped memory, reachable from a Go pointer until the final
// completion; never a stack variable.
//
// Sources: io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
package uring
