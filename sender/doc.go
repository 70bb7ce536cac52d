// Package sender is the sender/receiver model of asynchronous work, in Go and without allocation.
//
// A sender is work that has not begun: a value that deadlines, retries, bounds and cancellation are put
// around, as functions are composed. Fetch all of urls, eight at a time, each with three attempts and all of it
// with a deadline; the first that fails for good ends the others, and all have ended when SyncWait returns:
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
// The errors differ in one thing: Timeout's is os.ErrDeadlineExceeded, where a context's is
// context.DeadlineExceeded. When SyncWait's own ctx ends, its error is both ErrStopped and the ctx's cause.
//
// Three rules for programs of some size:
//
//   - Compose with tasks. What has branches, loops and several steps is written in direct style, in a
//     function that awaits senders: package task. It is a sender itself, of a short type.
//   - Erase at borders. A function that returns a sender returns Any (Erase), and a struct that runs one
//     has an AnyOp; both name the value's type only, and cost an allocation.
//   - What may block is a Call, on a goroutine; what is on a loop or a pool gets there by StartsOn.
//
// # Connect and start
//
// Connect ties a sender to a Receiver, which is the continuation, by initialising an operation state in
// storage that the caller owns; Start on what it returns begins the work. Algorithms take senders and make
// senders, and the state of the one holds the states of the others by value, so that a whole tree of work
// is one flat struct: it is laid out at compile time and can be embedded in a connection, say, and be used
// again and again.
//
// # The contract of an operation
//
//   - Connect has no effect that can be seen from outside. Nothing completes before Start.
//   - Start cannot fail. Exactly one completion per Start is called on the receiver: SetValue, SetError
//     or SetStopped. It may be called inside Start, and on any thread; each sender says which.
//   - When the completion is called the operation is idle: nothing of it touches the operation state
//     or the receiver any more, but for the frames that are already returning. The receiver may overwrite
//     the state, or connect and start it again, from inside the call.
//   - From Connect until the completion the operation state stays where it is and is not copied.
//   - The operations of this package may also be started again without connecting them anew, if their
//     children may.
//   - A stop request is a wish. An operation that succeeds in spite of it delivers its value: a result
//     is never thrown away because of a stop. To be stopped is not an error and has its own channel: what a
//     function returns that heeds its context, once that is cancelled by a stop request, counts as it.
//   - An algorithm that starts several children joins them all before it completes. It completes on
//     the thread of the child that completed last, unless it says otherwise.
//   - What a scheduler abandons completes stopped if stop was requested or the resource is shutting down,
//     and with the reason as its error if the resource refused it: [ErrClosed], [ErrFull] and others, see
//     [Runner].
//   - A user's function that panics inside an algorithm completes it with a *PanicError, and so does the
//     Connect of a sender that an algorithm connects while it runs. One that calls runtime.Goexit, as
//     testing's FailNow does, completes it with [ErrGoexit]; the resources of this module outlive that: a
//     pool replaces its worker, and a run loop goes on in the deferred functions of its goroutine, which
//     ends when the loop has ended. A receiver does not panic.
//
// # Environments
//
// A receiver's Env tells those below it whether the result is still wanted (a stop.Token), where work
// should be done (a Scheduler), and whatever else is asked by key. Every algorithm forwards it; those
// that stop their children put their own stop token in place of the receiver's, and forward its request.
//
// # What there is
//
//   - Factories: [Just], [JustError], [JustStopped], [FromFunc], [Call], [ReadEnv], [Schedule],
//     [ScheduleAt], [ScheduleAfter].
//   - One after another: [Then], [UponError], [UponStopped], [Let], [LetError], [LetStopped], [Sequence],
//     [Finally], [Fallback], [Repeat], [RepeatUntil], [Retry], [RetryAfter], [Bulk].
//   - At once: [WhenAll], [WhenAllSlice], [WhenAny], [FirstSuccess], [StopWhen], [Timeout], [Split].
//   - Where: [StartsOn], [ContinuesOn], [AffineOn]; [CompletionBehaviorOf] tells where a sender completes.
//   - The environment: [WriteEnv], [Unstoppable], [FromContext], [ToContext].
//   - Changing channels and types: [IntoOptional], [IntoResult], [Erase].
//   - Consumers: [SyncWait], [AsFuture], [Spawn] and [SpawnFuture] into a [CountingScope], [Submit],
//     [StartDetached], [Execute].
//   - For algorithms and resources of one's own: [Group], [Limiter], [Complete], [WorkQueue].
//
// Below this package, stop has stop tokens, sched schedulers and run loops, seq sequences of items, task
// coroutines, and sendertest the suite that holds any sender to the contract.
//
// Connect and Start allocate nothing, but for what says so: the slice forms, Erase, FromContext, Call,
// the consumers, and those adaptors that connect a sender while they run (Sequence, Fallback, Repeat, Retry):
// their Connect allocates a copy of that sender, once for each operation state.
//
// # How it is written in Go
//
// The type of the operation state is a type parameter O of its sender. Callers write none of that: all
// type parameters are inferred.
//
//	s := sender.Then(sender.Just(20), func(n int) string { return strconv.Itoa(n + 1) })
//	text, err := sender.SyncWait(ctx, s)
//
// What an operation state's type names is the states of its children and nothing else, so that its name
// grows by what each level adds. Where a type must be written down, in a struct's field or as the result
// of a function, there are three ways: write it (TimeoutOp[int, RecvOp, SleepOp] is short enough); make the
// struct generic in O; or use [AnyOp], which [Connect] connects any sender of T in, and [Any], at an
// allocation. [StateOf] makes a state of a type that need not be written.
//
// An operation plays several receivers by named pointer types over its struct, which costs nothing,
// where closures would allocate.
//
// Source: D2006R1 (connect and start as basis operations), P2300R10 (std::execution), P1525R1
// (schedulers), P3552R3 (tasks), P3149R9 (scopes), P1677R2 (cancellation is serendipitous success).
//
// Where each concept of the papers is, and what is different or missing and why: PAPERS.md.
package sender
