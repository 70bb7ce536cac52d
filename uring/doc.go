//go:build linux

// Package uring is the kernel's io_uring: the layout of its entries, and a [Ring] that submits them.
//
// # The contract of a ring
//
// Work goes in as a submission entry ([SQE], 64 bytes) that names an operation, its arguments and an opaque user_data.
// Its results come out as completions ([CQE], 16 bytes) that carry the same user_data, a result (a number of bytes, a
// descriptor, or a negated errno) and flags. A completion with [CQEMore] says that the entry stays armed and that more
// completions will follow. The first completion without it is the entry's final one, and only then may its memory and
// its user_data be used again. A cancel is an entry like any other ([SQE.PrepCancel]): its target completes with
// -ECANCELED, or with its result if that came first.
//
// Package epoll implements the same contract over epoll(7), so that everything above the rings is written once. The
// encoders (the Prep methods of [SQE]), opcodes and flags of this package are those that package reactor submits, and
// no others.
//
// # How to use it
//
// [New] makes a ring; its error matches [ErrUnavailable] if this process cannot have one. [Probe] and [Ring.Caps] tell
// what the ring can do. [Ring.Enable] binds it to the calling thread. Then:
//
//	var sqe uring.SQE
//	sqe.PrepRecv(fd, p, n, 0)
//	sqe.UserData = 1
//	ring.Push(&sqe)               // queues a copy
//	err := ring.Enter(-1)         // submits what is queued, and waits for a completion
//	var cqe uring.CQE
//	for ring.Pop(&cqe) {          // takes the completions
//	}
//
// # What it guarantees
//
//   - [Ring.Push] always finds room.
//   - Completions come out of [Ring.Pop] only, and none is lost.
//   - A [Ring.Wake] ends the wait of one Enter, now or later.
//   - Push, Enter and Pop allocate nothing in steady state.
//
// Enter submits all that is queued with one system call. There are two exceptions, which are faster: a send that is the
// only entry is made by send(2) inside Push, and reads and writes are submitted a few at a time.
//
// # Threads
//
// A Ring belongs to the thread that calls Enable. Push, Enter, Pop, ProvideBuffer and Close are called on that thread
// only. Wake may be called from any thread at any time, also after Close.
//
// # Memory
//
// A submission entry holds addresses as integers, which neither keep memory alive nor move with it. What an entry
// points to must be heap or mapped memory that is reachable from a Go pointer until the final completion. It must not
// be a stack variable.
//
// Sources: io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
package uring
