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
// Completions only ever come out of Pop.
//
// A minimum wait (SetMinWait) is a sleep ahead of waiting for events.
//
// # Files
//
// What cannot be waited for by epoll(7), regular files above all, is read and written at once if that can be
// done without waiting (RWF_NOWAIT of preadv2(2)): what is in the page cache is read on the loop, as the kernel
// does. With O_DIRECT it is asked for by io_submit(2), again if that can begin without waiting; each ring that does
// so takes 256 of the sysctl fs.aio-max-nr. The rest, and what else can block, are the work of a pool of goroutines:
// flushing, allocating, truncating, all that has to do with paths. It is bounded by Config.Workers, each of which
// occupies a thread while it is in a system call; they are started on demand and stay until the ring is closed.
// Writes to a plain file that wait are made one at a time for each descriptor, in order.
//
// Nothing in the pool waits for what another entry does, so that all of it comes to its turn, however few
// workers there are. Pipes, FIFOs, terminals and eventfds are waited for on the loop. A splice is tried without
// waiting, and then waits on the loop for the end that was not ready. Opening a FIFO does not wait for its other
// end, as with the kernel's ring. A wait for a child is woken by SIGCHLD, through os/signal. What a worker does
// wait for is the file system and the device, and for a lease that another process holds.
//
// A cancel takes back what no worker has begun. What one has begun, or io_submit(2), is past stopping (-EALREADY)
// and completes by itself.
//
// # Descriptors
//
// The ring cannot see that a descriptor is closed. It must be closed by a close entry, or announced by
// Forget, or else the next file with its number is taken for the old one, and receives on it may wait
// for ever. (Entries that are rare or stay long ask the kernel and are safe: multishot ones without a limit, polls,
// accepts, connects. So are descriptors that this ring has accepted.)
//
// To accept, connect, splice, or read and write what is not a socket, O_NONBLOCK is set on the descriptor. For
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
//   - A cancel by descriptor reaches the entries of that number. The kernel's reaches those of the file, under
//     whichever number they came.
//   - Entries cannot be linked or drained, and there are no bundles and no vectored sends: these complete
//     with -EINVAL, as in a kernel that does not know them. There are no registered files (-EBADF).
//   - A zero-copy send copies, and says so to those who ask (uring.SendZCReportUsage).
//   - A multishot poll may say again what still holds when another event comes. (The kernel does not take a
//     level-triggered poll from anybody.)
//   - A message to another ring (uring.SQE.PrepMsgRing) can be sent to rings of this kind in this process. There
//     are no messages with descriptors, which would be registered ones.
//   - Of a socket without O_NONBLOCK, a connect to a Unix socket whose backlog is full waits by trying again, and
//     can be cancelled. The kernel waits in a worker thread, and cannot call it back.
//   - What cannot be received from at all, or accepted from, is told at once, even of an entry that asks to wait
//     first (uring.RecvsendPollFirst).
//   - A splice that waits can be cancelled like any other entry. The kernel's answers the cancel with -EALREADY
//     and completes with -512, ERESTARTSYS; and while it waits for a socket it keeps the pipe locked.
//   - The cancel of a wait for a child completes with 0; the kernel's with 1. A child that does not announce its
//     end by SIGCHLD is found out when another does.
//   - To open a FIFO with O_CREAT, O_TRUNC or uring.SQEAsync waits in the kernel, and keeps a worker thread.
//   - If more than one thing is wrong with an entry, another of the errors may be the one it completes with. Flags
//     of preadv2(2) that a file does not support are not found out by moving nothing. I/O priorities are checked
//     and not used.
//   - O_NONBLOCK that was set by the caller is not looked at, but for accepting from and connecting to Unix sockets:
//     what would have to wait waits, unless RWF_NOWAIT or SPLICE_F_NONBLOCK says otherwise.
//   - Registered buffers can be named by READ_FIXED and WRITE_FIXED alone, which gain nothing by it.
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
