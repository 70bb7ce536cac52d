//go:build linux

// Package epoll is an io_uring in software: a [Ring] that takes the submission entries of package
// [github.com/reactord/reactord/uring] and makes their completions by epoll(7) and ordinary system calls. It is for
// kernels and containers that have no io_uring.
//
// # How to use it
//
// A Ring is used as a uring.Ring is: [New], [Ring.Enable] on the thread that will use it, and then [Ring.Push] to queue
// entries, [Ring.Enter] to submit them and to wait, and [Ring.Pop] to take completions. Receive buffers are provided by
// [Ring.RegisterBuffers] and [Ring.ProvideBuffer]. One difference is stated under Descriptors: descriptors that are
// closed by other means than a close entry must be announced ([Ring.Forget]).
//
// # What it guarantees
//
//   - It interprets the opcodes, flags and cancels that package reactor submits. An entry with any other completes with
//     -EINVAL, as in a kernel that does not know it. A test in internal/seam checks this.
//   - Each entry completes as the kernel's would, except for the differences listed below. FuzzDifferential and
//     FuzzFiles run random programs of entries on both, and compare.
//   - Completions come out of Pop only.
//   - There is no busy loop. In steady state nothing is allocated. A descriptor costs 32 bytes, an entry in flight 80.
//
// # How an entry is interpreted
//
// Each descriptor is registered in the epoll set once, edge-triggered, for all events. Its record (file.go) keeps what
// the last events and system calls said, so an event that no entry waits for is remembered and never reported again.
// Entries wait in one FIFO for each direction.
//
// A send is tried when it is submitted, and waits only if there is no room. A receive waits first, unless the
// descriptor is known to be readable, or nothing is known of it. A short receive from a TCP stream says that it is
// drained, unless EOF, an error or urgent data was signalled; so no call is spent on EAGAIN. A short message says
// nothing, and the next one is asked for. But a multishot recvmsg on a socket for datagrams takes up to 32 of them with
// one call (recvmmsg(2)), and fewer than it asked for say that nothing is left. Messages that one such socket sends to
// addresses, if they are queued one behind the other, are sent with one call as well (sendmmsg(2)).
//
// Descriptors that are ready are served round-robin, with one system call for each direction, until a batch of bytes
// has been received (Config.BatchBytes). If descriptors are ready after that, the next Enter does not wait.
//
// A file named op_x.go interprets one family of opcodes; op.go says which opcode is in which. file*.go is what the ring
// knows of descriptors, entry*.go the entries, and ring*.go the interface.
//
// # Files
//
// epoll(7) refuses plain files, regular files above all. They are read and written immediately if that can be done
// without waiting (RWF_NOWAIT of preadv2(2)): data in the page cache is read on the loop, as the kernel does.
// Transfers with O_DIRECT are given to io_submit(2), again if they can be begun without waiting; each ring that does
// so takes 256 of the sysctl fs.aio-max-nr. The other transfers, and everything else that can block (flushing,
// allocating, truncating, operations on paths), are made by a pool of goroutines. Config.Workers bounds the pool. A
// worker occupies a thread while it is in a system call; workers are started on demand and stay until the ring is
// closed. Writes to a plain file that wait are made one at a time for each descriptor, in order.
//
// Nothing in the pool waits for another entry, so every call is made in the end, however few workers there are.
// Pipes, FIFOs, terminals and eventfds are waited for on the loop. A splice is tried without waiting, and then waits
// on the loop for the descriptor that was not ready. Opening a FIFO does not wait for its other end, as with the
// kernel's ring. A wait for a child is woken by SIGCHLD, through os/signal. So a worker waits for the file system and
// the device only, and for a lease that another process holds.
//
// A cancel takes back a call that no worker has begun. A call that a worker or io_submit(2) has begun cannot be
// stopped: the cancel completes with -EALREADY, and the entry completes by itself.
//
// # Descriptors
//
// The ring cannot see that a descriptor is closed. It must be closed by a close entry, or announced by [Ring.Forget].
// Otherwise the ring takes the next file with its number for the old one, and receives on it may wait without a limit.
// (Entries that are rare or stay long ask the kernel and are safe: multishot ones without a limit, polls, accepts,
// connects. So are descriptors that this ring has accepted.)
//
// A TCP socket that the ring was told of ([Ring.ExpectTCP]) should have no duplicate when a close entry closes it: as
// long as there is one, its events wake the ring, which ignores them. After the first such event the ring prevents that
// of all that it closes. [Ring.Forget] before the close prevents it, too.
//
// To accept, connect, splice, or read and write a file that is not a socket, the ring sets O_NONBLOCK on the
// descriptor. For sends and receives O_NONBLOCK does not matter.
//
// # What differs from the kernel
//
//   - Receives on one descriptor complete in the order of their submission; the kernel wakes the last one first. A
//     multishot entry goes to the end of the queue with each completion.
//   - An empty datagram is one of many for a multishot recvmsg; it ends the kernel's. (An empty message on a socket
//     with connections ends both: it may be EOF.)
//   - uring.CQESockNonempty says that there may be more: it is set when a receive filled its buffer, and when EOF or an
//     error was signalled. The kernel knows exactly. Accepts never have it.
//   - The provided buffer that is used is the one that was provided last.
//   - A zero-copy send copies, and says so if asked (uring.SendZCReportUsage).
//   - A multishot poll may report again what still holds when another event comes.
//   - If a socket has no O_NONBLOCK, its connect to a Unix socket whose backlog is full waits by trying again, and can
//     be cancelled. The kernel waits in a worker thread that it cannot interrupt.
//   - A receive or an accept that can never work fails immediately, even if the entry asks to wait first
//     (uring.RecvsendPollFirst).
//   - A splice that waits can be cancelled like any other entry. The kernel completes the cancel with -EALREADY and the
//     splice with -512 (ERESTARTSYS); and while it waits for a socket it keeps the pipe locked.
//   - The cancel of a wait for a child completes with 0; the kernel's with 1. A child whose end is not signalled by
//     SIGCHLD is found when another child ends.
//   - To open a FIFO with O_CREAT or O_TRUNC waits in the kernel, and occupies a worker.
//   - If more than one thing is wrong with an entry, it may complete with the error of another one.
//   - O_NONBLOCK that the caller has set is ignored, except for accepting from and connecting to Unix sockets: an
//     operation that would have to wait waits, unless SPLICE_F_NONBLOCK says otherwise.
//   - Registered buffers make nothing faster.
//   - A close entry for a descriptor with entries in flight completes immediately, and the file stays open until these
//     have completed, as in the kernel; but the number stays taken as well.
//
// # Threads and memory
//
// A ring belongs to the thread that calls Enable; only Wake may be called from other threads, at any time. Entries and
// records of descriptors live in pages that never move, lists are linked through them by index, so that the garbage
// collector has nothing to follow, and all queues keep their capacity. What an entry points to must stay where it is
// until the entry's final completion, as for package uring.
package epoll
