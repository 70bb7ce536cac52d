// Package sender is the sender/receiver model of asynchronous work, in Go and without allocation.
//
// A sender describes work that has not begun. It is a value: algorithms add deadlines, retries, limits and cancellation
// to it, as functions are composed. The following function fetches all urls, eight at a time, each with three attempts,
// all of them within a deadline. The function that is given to RetryAfter is called with failed = 1, 2 and 3: it waits
// 2 ms, then 4 ms, and gives up after the third attempt. The first fetch that gives up stops the others. When SyncWait
// returns, all of them have completed:
//
//	func fetchAll(ctx context.Context, urls []string) ([]Page, error) {
//		var g sched.Goroutines
//		fetches := make([]sender.Any[Page], len(urls))
//		for i, url := range urls {
//			get := sender.Call(func(ctx context.Context) (Page, error) { return fetch(ctx, url) })
//			fetches[i] = sender.Erase(sender.RetryAfter(get, func(failed int, err error) (sender.ScheduleAtSender, bool) {
//				return sender.ScheduleAfter(g, time.Millisecond<<failed), failed < 3
//			}))
//		}
//		all := sender.WhenAllSlice(fetches, 8)
//		return sender.SyncWait(ctx, sender.Timeout(all, sender.ScheduleAfter(g, 5*time.Second)))
//	}
//
// The same with golang.org/x/sync/errgroup:
//
//	func fetchAll(ctx context.Context, urls []string) ([]Page, error) {
//		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
//		defer cancel()
//		group, ctx := errgroup.WithContext(ctx)
//		group.SetLimit(8)
//		pages := make([]Page, len(urls))
//		for i, url := range urls {
//			group.Go(func() error {
//				for failed := 0; ; {
//					page, err := fetch(ctx, url)
//					if failed++; err == nil || failed == 3 || ctx.Err() != nil {
//						pages[i] = page
//						return err
//					}
//					select {
//					case <-time.After(time.Millisecond << failed):
//					case <-ctx.Done():
//						return context.Cause(ctx)
//					}
//				}
//			})
//		}
//		return pages, group.Wait()
//	}
//
// The errors differ in one point: the error of Timeout is os.ErrDeadlineExceeded, that of a context is
// context.DeadlineExceeded. When the ctx of SyncWait is done, the error is both [ErrStopped] and the cause of ctx.
//
// # How to use it
//
//   - Factories make senders: [Just], [JustError], [JustStopped], [FromFunc], [Call], [ReadEnv], [Schedule],
//     [ScheduleAt], [ScheduleAfter]. Package reactor has senders for I/O.
//   - Algorithms run senders one after another: [Then], [UponError], [UponStopped], [Let], [LetError], [LetStopped],
//     [Sequence], [Finally], [Fallback], [Repeat], [RepeatUntil], [Retry], [RetryAfter], [Bulk].
//   - Algorithms run senders concurrently: [WhenAll], [WhenAllSlice], [WhenAny], [FirstSuccess], [StopWhen], [Timeout],
//     [Split].
//   - Algorithms say where senders run: [StartsOn], [ContinuesOn], [AffineOn]. [CompletionBehaviorOf] says where a
//     sender completes.
//   - Algorithms change the environment: [WriteEnv], [Unstoppable], [FromContext], [ToContext].
//   - Algorithms change channels and types: [IntoOptional], [IntoResult], [Erase].
//   - Consumers start senders: [SyncWait], [AsFuture], [Spawn], [SpawnOr] and [SpawnFuture] into a [CountingScope],
//     [Submit], [StartDetached], [Execute].
//   - Building blocks are for your own algorithms and resources: [Completion], [Complete], [Group], [Limiter],
//     [WorkQueue], [TimerDriver].
//
// Package stop has stop tokens. Package sched has schedulers and run loops. Package seq has sequences of items. Package
// task has coroutines. Package sendertest tests whether a sender keeps the contract.
//
// Three rules for larger programs:
//
//   - Compose with tasks. Write code that has branches, loops and several steps in direct style, as a function that
//     awaits senders: see package task. Such a task is itself a sender, of a short type.
//   - Erase at boundaries. A function that returns a sender returns [Any] (by [Erase]), and a struct that runs one has
//     an [AnyOp]. Both name only the type of the value, and cost an allocation.
//   - Use [Call] for functions that block: it calls them on a goroutine. Use [StartsOn] for work that belongs on a loop
//     or a pool.
//
// # Connect and Start
//
// Connect ties a sender to a [Receiver], which is the continuation. It initialises an operation state, in storage that
// the caller owns. Start on the returned [Operation] begins the work. Algorithms take senders and make senders. The
// operation state of an algorithm contains the operation states of its children, so a whole tree of work is one flat
// struct. It can be a field of a connection, for example, and can be used again and again.
//
// # What an operation guarantees
//
//   - Connect has no effect that is visible from outside. Nothing completes before Start.
//   - Start cannot fail. Exactly one completion per Start is called on the receiver: SetValue, SetError or SetStopped.
//     It may be called inside Start, and on any thread. Each sender documents which.
//   - When the completion is called the operation is idle: nothing of it touches the operation state or the
//     receiver. The receiver may overwrite the state, or connect and start it again, from inside the call.
//   - From Connect until the completion the operation state stays where it is and is not copied.
//   - The operations of this package may be started again without another Connect, if those of their children may.
//   - Cancellation is cooperative; a late result is still delivered. Stopped is not an error, and has its own channel.
//     An error that a Go function returns because a stop request cancelled its context counts as stopped: see
//     [Complete].
//   - An algorithm that starts several children waits for all of them before it completes. It completes on the thread
//     of the child that completed last, unless it documents something else.
//   - Work that a scheduler abandons completes stopped if stop was requested or the resource is shutting down. If the
//     resource refuses the work, it completes with the reason as its error: [ErrClosed], [ErrFull] and others, see
//     [Runner].
//   - A user's function that panics completes the algorithm with a [*PanicError]. So does a panic in Connect, if the
//     algorithm connects the sender while it runs. A function that calls runtime.Goexit, as testing's FailNow does,
//     completes the algorithm with [ErrGoexit]. The resources of this module survive that: a pool replaces its worker,
//     and a run loop continues in the deferred functions of its goroutine, which ends when the loop has ended.
//     Receivers must not panic.
//
// # Environments
//
// The [Env] of a receiver answers the operations below it: whether they are requested to stop (a [stop.Token]), where
// work should run (a [Scheduler]), and open queries by key. Every algorithm forwards it. Algorithms that stop their
// children replace the stop token by their own, and forward the stop request.
//
// # What it costs
//
// Connect and Start allocate nothing, except where an algorithm documents it under "Allocation": the slice forms,
// Erase, FromContext, Call, the consumers, and the algorithms that connect a sender while they run (Sequence, Fallback,
// Repeat, Retry), whose Connect allocates a copy of that sender once for each operation state.
//
// # How it is written in Go
//
// The type of the operation state is a type parameter O of its sender. Callers do not write it, because all type
// parameters are inferred:
//
//	s := sender.Then(sender.Just(20), func(n int) string { return strconv.Itoa(n + 1) })
//	text, err := sender.SyncWait(ctx, s)
//
// The type of an operation state names only the states of its children, so its name grows by what each level adds.
// Sometimes a type must be written down, in a struct field or as the result of a function. There are three ways:
//
//   - Write it. TimeoutOp[int, RecvOp, SleepOp] is short enough.
//   - Make the struct generic in O.
//   - Erase it, at the cost of an allocation. A function returns an [Any]: a sender of T of any type. A struct holds an
//     [AnyOp]: an operation state for any sender of T. The function [Connect] connects a sender in an AnyOp.
//
// [StateOf] makes an operation state without writing its type.
//
// A struct often needs several receivers, one for each operation that it runs. A type has only one method SetValue, so
// each receiver is a separate named type with the same underlying struct. A pointer to the struct is converted to a
// pointer to that type:
//
//	type conn struct{ recv RecvOp; send SendOp }
//
//	type received conn                 // the receiver of recv
//	func (r *received) SetValue(n int) { c := (*conn)(r); … }
//
//	type sent conn                     // the receiver of send
//	func (s *sent) SetValue(n int)     { c := (*conn)(s); … }
//
//	socket.Recv(buf).Connect(&c.recv, (*received)(c))
//
// The conversion costs nothing, while closures would allocate.
//
// Source: D2006R1 (connect and start as basis operations), P2300R10 (std::execution), P1525R1 (schedulers), P3552R3
// (tasks), P3149R9 (scopes), P1677R2 (cancellation is serendipitous success).
//
// PAPERS.md says where each concept of the papers is, what is different or missing, and why.
package sender
