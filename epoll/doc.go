// Package epoll is an io_uring in software: a Ring that takes the entries of package uring and makes
// their completions by epoll(7) and ordinary system calls. It is for kernels and containers that have
// no io_uring. The contract is that of package uring; what comes out is, case by case, what the kernel
// would have posted, and the differential tests of this package hold it to that.
//
// # How an entry is carried out
//
// Each descriptor is registered once, edge-triggered, for everything. Its file record keeps what the
// last events and system calls said (readable, blocked, an end or an error signalled), so an event
// that nobody waits for is remembered and never reported again: there is no busy loop. Entries wait in
// one FIFO a direction.
//
// A send is tried when it is submitted, and waits only if there is no room. A receive waits first,
// unless the descriptor is known to be readable, or nothing is known of it. A short receive from a TCP
// stream says that it is drained, unless its end, an error or urgent data was signalled; so no call is
// spent on EAGAIN. Of messages, datagrams or others, a short one says nothing, and the next is asked for.
// Descriptors that are ready take turns, one system call a direction each, until a
// batch of bytes has been received (Config.BatchBytes); what is left makes the next Enter not wait.
//
// Completions only ever come out of Pop. Reads, writes and flushes of regular files, which can block,
// are done by a bounded pool of goroutines.
//
// # Descriptors
//
// The ring cannot see that a descriptor is closed. It must be closed by a close entry, or announced by
// Forget, or else the next file with its number is taken for the old one, and receives on it may wait
// for ever. (Entries that are rare or stay long ask the kernel and are safe: multishot ones, polls,
// accepts, connects. So are descriptors that this ring has accepted.)
//
// To accept, connect, or read and write what is not a socket, O_NONBLOCK is set on the descriptor. For
// sends and receives it does not matter.
//
// # What differs from the kernel
//
//   - Receives on one descriptor complete in the order of their submission; the kernel wakes the last
//     one first. A multishot entry goes to the end of the queue with each completion.
//   - CQESockNonempty says that there may be more: it is set when a receive filled its buffer, and when
//     an end or an error was signalled. The kernel knows exactly. Accepts never have it.
//   - To receive, the buffer of a group is used that was provided last; to send, as in the kernel, the one
//     that was provided first.
//   - Entries cannot be linked or drained, and there are no bundles and no vectored sends: these complete
//     with -EINVAL, as in a kernel that does not know them. There are no registered files (-EBADF).
//   - A zero-copy send copies, and says so to those who ask (uring.SendZCReportUsage).
//   - A multishot poll may say again what still holds when another event comes. (The kernel does not take a
//     level-triggered poll from anybody.)
//   - A message to another ring (uring.SQE.PrepMsgRing) can be sent to rings of this kind in this process. There
//     are no messages with descriptors, which would be registered ones.
//   - A connect to a Unix socket whose backlog is full waits by trying again, and can be cancelled. The kernel
//     waits in a worker thread, and cannot call it back.
//   - What cannot be received from at all, or accepted from, is told at once, even of an entry that asks to wait
//     first (uring.RecvsendPollFirst).
//   - A close entry for a descriptor on which entries are in flight completes at once, and the file
//     stays open until they have, as in the kernel; but so does the number stay taken.
//
// # Threads and memory
//
// As for package uring: one thread, except for Wake, and for messages between rings, which each ring sends and
// takes on its own thread without a lock that others could hold for long. In steady state nothing is allocated:
// entries and files live in pages that never move, lists are linked through them by index, and all queues keep
// their capacity. A descriptor costs 32 bytes, an entry in flight 80.
package epoll
