// Package sender is the sender/receiver model of asynchronous work, in Go and without allocation.
//
// A Sender describes work that has not begun. Connect ties it to a Receiver, which is the continuation,
// by initialising an operation state in storage that the caller owns; Start on that state begins the
// work. Algorithms take senders and make senders, and the state of the one holds the states of the
// others by value, so that a whole tree of work is one flat struct: it is laid out at compile time and
// can be embedded in a connection, say, and be used again and again.
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
//     is never thrown away because of a stop. To be stopped is not an error and has its own channel.
//   - An algorithm that starts several children joins them all before it completes. It completes on
//     the thread of the child that completed last, unless it says otherwise.
//   - A user's function that panics inside an algorithm completes it with a *PanicError, and so does the
//     Connect of a sender that an algorithm connects while it runs. A receiver does not panic.
//
// # Environments
//
// A receiver's Env tells those below it whether the result is still wanted (a stop.Token), where work
// should be done (a Scheduler), and whatever else is asked by key. Every algorithm forwards it; those
// that stop their children put their own stop token in place of the receiver's, and forward its request.
//
// # What there is
//
//   - Factories: [Just], [JustError], [JustStopped], [FromFunc], [ReadEnv], [Schedule], [ScheduleAt],
//     [ScheduleAfter].
//   - One after another: [Then], [UponError], [UponStopped], [Let], [LetError], [LetStopped], [Sequence],
//     [Finally], [Fallback], [Repeat], [RepeatUntil], [Retry], [RetryAfter], [Bulk].
//   - At once: [WhenAll], [WhenAny], [StopWhen], [Timeout], [Split].
//   - Where: [StartsOn], [ContinuesOn], [AffineOn]; [CompletionOf] tells where a sender completes.
//   - The environment: [WriteEnv], [Unstoppable], [FromContext], [ToContext].
//   - Changing channels and types: [IntoOptional], [IntoResult], [Erase].
//   - Consumers: [SyncWait], [AsFuture], [Spawn] and [SpawnFuture] into a [CountingScope], [Submit],
//     [StartDetached], [Execute].
//   - For algorithms and resources of one's own: [Group], [Complete], [WorkQueue].
//
// Below this package, stop has stop tokens, sched schedulers and run loops, seq sequences of items, task
// coroutines, and sendertest the suite that holds any sender to the contract.
//
// Connect and Start allocate nothing, but for what says so: the slice forms, Erase, FromContext and the
// consumers.
//
// # How it is written in Go
//
// The type of the operation state is a type parameter O of its sender, and P is *O with its Start
// method. Callers write none of that: all type parameters are inferred.
//
//	s := sender.Then(sender.Just(20), func(n int) string { return strconv.Itoa(n + 1) })
//	text, err := sender.SyncWait(ctx, s)
//
// An operation plays several receivers by named pointer types over its struct, which costs nothing,
// where closures would allocate.
//
// Source: D2006R1 (connect and start as basis operations), P2300R10 (std::execution), P1525R1
// (schedulers), P3552R3 (tasks), P3149R9 (scopes), P1677R2 (cancellation is serendipitous success).
//
// Where each concept of the papers is, and what is different or missing and why: PAPERS.md.
package sender
