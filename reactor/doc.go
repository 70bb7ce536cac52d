//go:build linux

// Package reactor is an asynchronous I/O engine: it runs operations on sockets, files, pipes, events, processes and
// timers on loops. A [Loop] is one OS thread with one ring, io_uring or epoll. Operations are senders, see package
// [github.com/reactord/reactord/sender]. Starting and completing an operation allocates nothing and takes no lock.
//
// # How to use it
//
// Servers and connections are in packages on top of this one. [github.com/reactord/reactord/reactor/server] serves with
// handlers or with a task for each connection. [github.com/reactord/reactord/reactor/netconn] has connections as
// net.Conn. [github.com/reactord/reactord/reactor/reactortest] tests a program on simulated machines. The file
// docs/guide.md leads through all of them, and the directory examples has programs.
//
// This package is what they are made of. [Run] runs a loop for each CPU. The simplest style on a loop is a task: a
// function that runs as a coroutine on the loop's thread, and awaits one operation after the other:
//
//	err := reactor.Run(ctx, reactor.Config{}, func(l *reactor.Loop) error {
//		l.Spawn(task.New(func(t *task.T) error { return ask(t, l, "localhost:7000") }))
//		return nil
//	})
//
//	func ask(t *task.T, l *reactor.Loop, addr string) error {
//		c, err := task.Await(t, reactor.Dial(l, "tcp", addr))
//		if err != nil {
//			return err
//		}
//		defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
//		if _, err := task.Await(t, c.SendAll([]byte("hello\n"))); err != nil {
//			return err
//		}
//		buf := make([]byte, 512)
//		n, err := task.Await(t, sender.Timeout(c.Recv(buf), l.SleepFor(time.Second)))
//		fmt.Printf("%s", buf[:n])
//		return err
//	}
//
// The other style is longer and allocates less: a structure that embeds the operation states of a connection, and
// receivers that start the next operation when one has completed. See the directory examples/echo/receiver.
//
// # Operations and their memory
//
// A method such as [Socket.Recv] returns a sender, here a [RecvSender], which describes an operation and does nothing.
// Its Connect prepares an operation state, a [RecvOp], in memory that the program owns. Start submits it. When the
// operation has completed, the receiver is called: on the loop's thread, exactly once for each Start, never inside
// Start and never inside a stop request. Then the operation state is idle again: it may be started or connected again,
// also inside the receiver.
//
// So each operation has two types, and both have names: a structure embeds the states of its operations, and a field,
// a parameter or a result that is one of these senders spells its type. The senders are plain structs instead of one
// interface for all of them, because a sender in an interface is allocated.
//
// An operation state holds the submission entry itself. It must be on the heap and must not be moved or copied: embed
// it in the structure that it belongs to. A server that embeds the operation states in its connections allocates once
// for each connection, and never for an operation. Memory that an operation uses, such as the bytes to send, belongs to
// the operation from Start until it completes.
//
// # Threads
//
// Everything happens on the thread that called [Loop.Run]: the loop takes completions, expires timers, runs what other
// threads posted, and sleeps in the ring when there is nothing to do. Every operation is started on its loop's thread.
// Other threads reach the loop by [Loop.Spawn], [Loop.Enqueue], a [Mailbox], or sender.StartsOn and sender.Execute. A
// function or method may be called on any thread only if its documentation says so.
//
// A callback that blocks delays everything else on the loop. [Offload] runs a function that blocks on a worker thread.
// Tasks of a loop wait for each other with a task.Queue or a task.Cond: a channel, or a mutex that is held in an Await,
// would block the loop forever. A loop that is blocked is reported, see LoopConfig.OnSlowTurn, and its time counts as
// Stats.Busy. [WriteInFlight] tells what a loop waits for.
//
// # Cancellation
//
// Cancellation is cooperative: a stop request (see package [github.com/reactord/reactord/sender/stop]) completes
// nothing. It makes the loop submit a cancel entry, and the operation completes when both its own entry and the cancel
// entry have completed. If the operation succeeded before the cancel reached it, its result is delivered: no accepted
// connection and no received byte is lost. Otherwise it completes stopped.
//
// [Descriptor.Close] cancels the operations on a descriptor and waits for them before it closes the descriptor. They
// complete with their result if they have one, otherwise with an error that matches net.ErrClosed. [Descriptor.Quiesce]
// does the same and leaves it open: they are stopped, and it can be given to another process.
//
// # Credit
//
// A sequence delivers many items. These sequences have a credit: [Socket.AcceptMany], [Socket.RecvMany],
// [Socket.RecvFromMany], [Socket.RecvMsgMany], [File.ReadMany], [Loop.Every], [Event.Many], [Loop.Signals]. The credit
// is the number of items that the sequence may still deliver. Each item uses up 1 of it, or more if it is a [Lease] of
// a large buffer (see [Lease.Credits]). When no credit is left, the sequence delivers nothing until it is granted more.
//
// The algorithms of package [github.com/reactord/reactord/sender/seq] grant credit for the items that they have
// consumed. A receiver calls Grant on the operation state, or on what Connect returned if there are adaptors between
// the two. A receiver that never grants gets no more items, without any error. A sequence with [Unlimited] credit needs
// no grants. Grant is called on the loop's thread, also inside SetNext, while the sequence is in progress.
//
// # Buffers
//
// [Socket.RecvLease] and the sequences of a socket receive into buffers of the loop ([Buffers]), not of the program. A
// receive that waits holds no buffer; one that completes delivers a [Lease], which the receiver owns until it calls
// [Lease.Release]. So idle connections take no memory for buffers. When many buffers are leased, sequences that hold
// more than their share wait, so that the other sequences find a buffer.
//
// # Shutdown
//
// [Loop.Stop] starts a drain: the loop cancels everything in flight, and an operation that is started from then on
// completes stopped, except for closing descriptors. A cancelled operation may still complete with a result. For
// example, an accept may still deliver a connection, and its receiver has to close it. When nothing is left in flight,
// Run returns.
//
// A task that is spawned during a drain does not run: [Loop.SpawnOr] takes a function to call instead. When an eighth
// of LoopConfig.DrainTimeout is left, tasks that have not ended are aborted. If an operation has not completed when the
// timeout has passed, its memory is leaked and counted, and the error of Run matches [ErrLeaked].
//
// # Graceful stop
//
// Stop cuts replies short, since it cancels sends as well as receives. A server that answers what it has begun stops in
// three steps:
//
//  1. It has a separate stop source, and only what begins new work gets its token, by sender.WriteEnv: accepting
//     connections, and receiving the next request. To drain is to request stop there. Sends are not affected.
//  2. A connection whose receive was stopped is done: it closes its socket and ends. A sync.WaitGroup or a
//     sender.CountingScope counts the connections.
//  3. When all have ended, or the time for it has passed, the loops are stopped: by [Reactor.Stop], or by the end of
//     the context of [Run].
//
// The example "graceful stop" of this package is such a server.
//
// # Lateness
//
// A loop is late when it checks its ring half a second or more after it meant to, because the process or the machine
// was stopped, the thread had no CPU, or a callback blocked it. It then takes what has arrived before it expires
// timers. So an operation whose result is there does not fail because a deadline passed meanwhile. Timers still expire
// by the clock. A timeout that judges a peer by what it did should subtract [Loop.Stalled], the time in which the loop
// could not see what peers did.
//
// # Errors
//
// SetError carries a syscall.Errno, an error that matches net.ErrClosed if the descriptor was closed under the
// operation, or an error that the documentation of the operation names.
//
// # Misuse
//
// Misuse panics, in every build, with a message that says what to do instead: starting an operation, granting credit or
// releasing a lease off the loop's thread, or while the loop does not run; starting an operation that has not
// completed, was not connected, or is on a copy of a descriptor; giving a descriptor to two Descriptors of a loop;
// releasing a lease twice; receiving into an empty buffer; running a loop twice. A configuration that is out of range
// is an error of [NewLoop].
//
// LoopConfig.OnMisuse, by default package log, receives what was forgotten: leases that are not released while receives
// wait, and leases and descriptors that are left at the end of Run. [Stats] counts the descriptors of a loop
// (Descriptors) and its leased bytes, which tests can compare with 0. A loop that is forgotten without Run or Discard
// is freed by the garbage collector, and logged.
//
// go vet finds copies of operation states and descriptors. With the build tag reactordebug a released buffer is
// overwritten, so that bytes that are used after [Lease.Release] are noticed. The file docs/misuse.md lists all
// mistakes with what happens and what to do instead.
//
// # Operations
//
// Every operation means the same on every ring. The table below says how each is carried out. Its columns:
//
//   - entry: the io_uring opcode without its prefix IORING_OP_, or what is done instead of submitting an entry.
//   - Linux: the first version that has the entry in the form that is used here.
//   - epoll: how the loop does it if its ring is epoll. The words are explained next.
//   - without it: how the loop does it, with the same results, if its io_uring lacks the entry.
//
// The words of the column epoll:
//
//   - wait: the system call is made when the descriptor is ready.
//   - try: the system call is made immediately. If it would block, the next word says what follows. But if that word is
//     pool and the ring can wait for the descriptor, as for a pipe, the loop waits for it instead.
//   - pool: the system call is made by one of a few goroutines that may block (see package epoll).
//   - call: the system call is made immediately, on io_uring too. It does not block.
//   - same: the loop does the same as on io_uring.
//   - immediately: the entry is carried out when it is submitted, and nothing is waited for.
//   - copies: the bytes are copied into the kernel, as by an ordinary send.
//   - SIGCHLD: the ring is woken by this signal.
//   - no gain: the buffers can be used, but are no faster than others.
//
// The table:
//
//	operation                          entry                       Linux  epoll        without it
//	Socket.Accept                      ACCEPT                      5.5    wait         -
//	Socket.AcceptMany                  ACCEPT multishot            5.19   wait         -
//	Socket.Dial, DialTo                CONNECT                     5.5    try, wait    -
//	Dial, Dialer.Dial                  CONNECT; names: Offload     5.5    try, wait    -
//	Socket.Recv, RecvFlags             RECV                        5.6    wait         -
//	Socket.RecvLease                   RECV, chosen buffer         5.19   wait         -
//	Socket.RecvMany                    RECV multishot, limited     6.17   wait         RECV one by one
//	RecvManySender.Adaptive            RECV and POLL_ADD           5.6    wait         -
//	Socket.RecvFrom, RecvMsg, RecvFDs  RECVMSG                     5.3    wait         -
//	Socket.RecvFromLease               RECVMSG, chosen buffer      5.19   wait         -
//	Socket.RecvFromMany, RecvMsgMany   RECVMSG multishot           6.0    wait         RECVMSG one by one
//	RecvMsgManySender.Whole            RECVMSG multishot           6.0    wait         RECVMSG one by one
//	Socket.Send, SendAll               SEND                        5.6    try, wait    -
//	Socket.Sendv, SendMsg, SendFDs     SENDMSG                     5.3    try, wait    -
//	Socket.SendTo                      SEND with an address        6.1    try, wait    SENDMSG
//	Socket.SendZC, SendvZC             SEND_ZC, SENDMSG_ZC         6.1    copies       SEND, SENDMSG: copies
//	Socket.SendFile                    SPLICE and POLL_ADD         5.7    try, wait    -
//	Socket.Shutdown, CloseWrite        shutdown(2)                 any    call         -
//	Socket.Open                        socket(2)                   any    call         -
//	Socket.Bind, Listen                bind(2), listen(2)          any    call         -
//	Socket.TryAccept                   accept4(2)                  any    call         -
//	Socket.MoveTo                      a post to the other loop    any    same         -
//	Descriptor.Poll                    POLL_ADD                    5.1    wait         -
//	Descriptor.PollMany                POLL_ADD multishot          5.13   wait         -
//	Descriptor.Close                   ASYNC_CANCEL, CLOSE         5.6    immediately  -
//	Descriptor.Quiesce                 ASYNC_CANCEL                5.5    immediately  -
//	File.Read, ReadAt, ReadFullAt      READ                        5.6    try, pool    -
//	File.Write, WriteAll               WRITE                       5.6    try, pool    -
//	File.WriteAt, WriteAllAt           WRITE                       5.6    try, pool    -
//	File.ReadvAt, WritevAt             READV, WRITEV               5.1    try, pool    -
//	File.ReadFixedAt                   READ_FIXED                  5.1    try, pool    READ
//	File.WriteFixedAt                  WRITE_FIXED                 5.1    try, pool    WRITE
//	File.ReadMany                      READ_MULTISHOT              6.7    wait         READ, chosen buffer
//	File.Sync, DataSync                FSYNC                       5.1    pool         -
//	File.Allocate                      FALLOCATE                   5.6    pool         -
//	File.Truncate                      FTRUNCATE                   6.9    pool         ftruncate(2) by Offload
//	File.Stat                          STATX                       5.6    pool         -
//	File.ReadDir                       getdents64(2) by Offload    any    same         -
//	Dir.OpenFile                       OPENAT                      5.6    pool         -
//	Dir.Stat, Lstat                    STATX                       5.6    pool         -
//	Dir.Rename                         RENAMEAT                    5.11   pool         -
//	Dir.Unlink, RemoveDir              UNLINKAT                    5.11   pool         -
//	Dir.Mkdir                          MKDIRAT                     5.15   pool         -
//	Dir.Symlink, Link                  SYMLINKAT, LINKAT           5.15   pool         -
//	Pipe.Open                          pipe2(2)                    any    call         -
//	Splice                             POLL_ADD, SPLICE            5.7    wait         -
//	Tee                                POLL_ADD, TEE               5.8    wait         -
//	Event.Open, Signal                 eventfd(2), write(2)        any    call         -
//	Event.Wait, Many                   POLL_ADD, read(2)           5.1    wait         -
//	Event.Close                        as Descriptor.Close         5.6    immediately  -
//	Loop.Nop                           NOP                         5.1    immediately  -
//	Loop.SleepFor, SleepUntil, Every   a timer of the loop         any    same         -
//	EverySender.From                   a timer of the loop         any    same         -
//	Loop.Signals                       signal.Notify, a post       any    same         -
//	Loop.WaitProcess                   WAITID                      6.7    SIGCHLD      pidfd_open(2), POLL_ADD
//	Loop.Enqueue, EnqueueAt            a post; eventfd(2) to wake  any    same         -
//	Loop.NewFixedBuffers               IORING_REGISTER_BUFFERS     5.1    no gain      -
//	Offload                            another goroutine           any    same         -
//
// A loop uses io_uring only if that has multishot accept, receive and poll, and provided buffers, which it has since
// Linux 6.0; otherwise it uses epoll. So only entries that are newer may be missing, and each of these has a
// replacement in the last column. What a ring can do is probed, never concluded from a version. If a ring lacks an
// entry that has no replacement, the operation completes with a uring.NotSupportedError.
//
// A chosen buffer is a buffer of the loop that the ring selects (IOSQE_BUFFER_SELECT). A limited multishot receive
// (optlen of the entry) ends by itself when the credit is used up. Without it, sequences of limited credit receive one
// by one. ReadMany uses a multishot read with unlimited credit only, and AcceptMany accepts one by one where the credit
// is small or the listener is a unix socket.
//
// Some features of io_uring are not used, because measurements showed no gain: linked entries and linked timeouts (a
// deadline is a timer of the loop and a cancel), cancelling by descriptor (it searches all that the ring waits for, and
// also finds duplicates of the descriptor), bundles (large buffers are as good, on both rings), registered files,
// messages between rings (an eventfd wakes a sleeping loop as fast), and entries for calls that do not block: socket,
// bind, listen, shutdown.
package reactor
