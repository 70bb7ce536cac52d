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
// # Being late
//
// A loop is late when it looks at its ring half a second or more after it meant to: the process or the machine was stopped,
// the thread had no CPU, or a callback blocked it. It then takes in what has arrived before it expires timers, so that an
// operation whose result is there is not ended by a deadline that passed meanwhile. Timers still expire by the clock: a
// Sleep is over when it is due. Whoever judges others by how long they did nothing subtracts Loop.Stalled, the time in which
// the loop could not see what they did.
//
// # Cancelling
//
// A stop request (see package stop) never completes anything: it submits an entry that cancels, and
// the operation completes when both that entry and its own are done. A cancel that finds nothing, while its operation
// is with the ring, is tried again a millisecond later. The result wins: what succeeded
// before the cancel reached it is delivered, so that no connection and no byte is lost. Otherwise the
// operation completes stopped.
//
// # Operations
//
// Every operation means the same on every ring. How each is carried out, by which kernel operation:
//
//	operation                          entry                       Linux  epoll      sim   without it
//	Socket.Accept                      ACCEPT                      5.5    wait       yes   -
//	Socket.AcceptMany                  ACCEPT multishot            5.19   wait       yes   -
//	Socket.Dial, DialTo                CONNECT                     5.5    try, wait  yes   -
//	Socket.Recv, RecvFlags             RECV                        5.6    wait       yes   -
//	Socket.RecvLease                    RECV, chosen buffer         5.19   wait       yes   -
//	Socket.RecvMany                    RECV multishot, limited     6.17   wait       both  RECV one by one
//	RecvManySender.Adaptive            RECV and POLL_ADD           5.6    wait       yes   -
//	Socket.RecvFrom, RecvMsg, RecvFDs  RECVMSG                     5.3    wait       yes   -
//	Socket.RecvFromLease                RECVMSG, chosen buffer      5.19   wait       yes   -
//	Socket.RecvFromMany, RecvMsgMany   RECVMSG multishot           6.0    wait       both  RECVMSG one by one
//	Socket.Send, SendAll               SEND                        5.6    try, wait  yes   -
//	Socket.Sendv, SendMsg, SendFDs     SENDMSG                     5.3    try, wait  yes   -
//	Socket.SendTo                      SEND with an address        6.1    try, wait  both  SENDMSG
//	Socket.SendZC, SendvZC             SEND_ZC, SENDMSG_ZC         6.1    copies     both  SEND, SENDMSG: copies
//	Socket.SendFile                    SPLICE and POLL_ADD         5.7    try, wait  yes   -
//	Socket.Shutdown, CloseWrite        shutdown(2)                 any    call       yes   -
//	Socket.Open                        socket(2)                   any    call       yes   -
//	Socket.Bind, Listen                bind(2), listen(2)          any    call       yes   -
//	Socket.TryAccept                   accept4(2)                  any    call       yes   -
//	Socket.MoveTo                      a post to the other loop    any    same       yes   -
//	Descriptor.Poll                    POLL_ADD                    5.1    wait       yes   -
//	Descriptor.PollMany                POLL_ADD multishot          5.13   wait       yes   -
//	Descriptor.Close                   ASYNC_CANCEL, CLOSE         5.6    at once    yes   -
//	File.Read, ReadAt, ReadFullAt      READ                        5.6    try, pool  yes   -
//	File.Write, WriteAll               WRITE                       5.6    try, pool  yes   -
//	File.WriteAt, WriteAllAt           WRITE                       5.6    try, pool  yes   -
//	File.ReadvAt, WritevAt             READV, WRITEV               5.1    try, pool  yes   -
//	File.ReadFixedAt                   READ_FIXED                  5.1    try, pool  both  READ
//	File.WriteFixedAt                  WRITE_FIXED                 5.1    try, pool  both  WRITE
//	File.ReadMany                      READ_MULTISHOT              6.7    wait       both  READ, chosen buffer
//	File.Sync, DataSync                FSYNC                       5.1    pool       yes   -
//	File.Allocate                      FALLOCATE                   5.6    pool       yes   -
//	File.Truncate                      FTRUNCATE                   6.9    pool       both  ftruncate(2) by Offload
//	File.Stat                          STATX                       5.6    pool       yes   -
//	File.ReadDir                       getdents64(2) by Offload    any    same       yes   -
//	Dir.OpenFile                       OPENAT                      5.6    pool       yes   -
//	Dir.Stat, Lstat                    STATX                       5.6    pool       yes   -
//	Dir.Rename                         RENAMEAT                    5.11   pool       yes   -
//	Dir.Unlink, RemoveDir              UNLINKAT                    5.11   pool       yes   -
//	Dir.Mkdir                          MKDIRAT                     5.15   pool       yes   -
//	Dir.Symlink, Link                  SYMLINKAT, LINKAT           5.15   pool       yes   -
//	Pipe.Open                          pipe2(2)                    any    call       yes   -
//	Splice                             POLL_ADD, SPLICE            5.7    wait       yes   -
//	Tee                                POLL_ADD, TEE               5.8    wait       yes   -
//	Event.Open, Signal                 eventfd(2), write(2)        any    call       yes   -
//	Event.Wait, Many                   POLL_ADD, read(2)           5.1    wait       yes   -
//	Event.Close                        as Descriptor.Close         5.6    at once    yes   -
//	Loop.Nop                           NOP                         5.1    at once    yes   -
//	Loop.SleepFor, SleepUntil, Every   a timer of the loop         any    same       yes   -
//	EverySender.From                   a timer of the loop         any    same       yes   -
//	Loop.Signals                       signal.Notify, a post       any    same       yes   -
//	Loop.WaitProcess                   WAITID                      6.7    SIGCHLD    both  pidfd_open(2), POLL_ADD
//	Loop.Enqueue, EnqueueAt            a post; eventfd(2) to wake  any    same       yes   -
//	Loop.NewFixedBuffers               IORING_REGISTER_BUFFERS     5.1    no gain    yes   -
//	Offload                            another goroutine           any    same       yes   -
//
// An entry is an io_uring opcode without its IORING_OP_; Linux is the version that first had it as it is used here.
// A loop takes an io_uring only if it finds there multishot accepts, receives and polls, and provided buffers, which is
// so since Linux 6.0; else it is on epoll. So what is older is never missing, and the last column is about what is
// newer: it tells how the loop does without, with the same results. What is there is asked and tried out, never
// concluded from a version. An operation for which there were no way would fail with a uring.NotSupportedError.
//
// A chosen buffer is one of the loop's that the ring picks (IOSQE_BUFFER_SELECT). A limited multishot receive
// (optlen in the entry) ends by itself when the credit is used up; without it, sequences of limited credit receive
// one by one. ReadMany reads multishot with unlimited credit only, and AcceptMany accepts one by one where the credit
// is small or the listener a unix one.
//
// On epoll: wait, the system call is made when the descriptor is ready; try, it is made at once, and again if it has
// to wait, when the descriptor is ready or, where that cannot be known, by the pool; pool, it is made by one of a few
// goroutines that may block (see package epoll); call and same, no entry is needed on any ring. In the simulation
// (sim): yes, as on io_uring; both, some simulated rings have it and some do not, so that both ways are run.
//
// Not used, because nothing was won by them: linked entries and linked timeouts (a deadline is a timer of the loop
// and a cancel), cancelling by descriptor (it looks through all that the ring waits for, and hits duplicates of the
// descriptor), bundles (large buffers are worth as much, on both rings), registered files, messages between rings
// (an eventfd wakes a sleeping loop as fast), and entries for what does not block: socket, bind, listen, shutdown.
//
// # Credit
//
// A sequence (AcceptMany, RecvMany, RecvFromMany, ReadMany, Every, Event.Many, Signals) delivers as many items as it has
// credit for, and waits when it has run out. Whoever consumes the items grants more: the algorithms of package seq do so
// by themselves, a receiver calls Grant on the operation, or on what Connect returned if there are adaptors between the
// two. A receiver that never does gets no more items, and nothing tells it; Unlimited credit needs no grants. Grant is
// called on the loop's thread, also inside SetNext, while the sequence is in progress.
//
// # Errors
//
// SetError carries a syscall.Errno, or net.ErrClosed if the socket was closed under the operation.
//
// What a program must not do panics, and says what to do instead: to start an operation, grant credit or
// release a lease off the loop's thread, or before Run or after it; to start one that has not completed; to
// release a lease twice; to run a loop twice.
//
// # Ending
//
// Sockets count their operations, and Socket.Close joins them before it closes the descriptor.
// Loop.Stop cancels everything in flight and ends the loop when nothing is left; should something
// never complete, its memory is leaked and counted, not freed. Tasks that do not end by themselves are cut
// short while the loop still runs, an eighth of LoopConfig.DrainTimeout before it gives up. What was accepted, received or begun before is still
// delivered: a receiver sees to it even then, and a task that may not begin any more has SpawnOr.
package reactor
