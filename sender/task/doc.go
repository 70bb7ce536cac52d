// Package task writes asynchronous work in direct style: a function that awaits senders, and is a sender itself.
//
//	echo := task.New(func(t *task.T) error {
//		for {
//			n, err := task.Await(t, conn.Recv(buf))
//			if err != nil || n == 0 {
//				return err
//			}
//			if _, err = task.Await(t, conn.SendAll(buf[:n])); err != nil {
//				return err
//			}
//		}
//	})
//
// # How to use it
//
//   - [New] and [NewValue] make a task. Start it as any sender: with sender.Spawn, sender.SyncWait or a Loop's Spawn.
//   - [Await] awaits a sender. [On] runs a part of the task on another scheduler. [Yield] lets other work run.
//   - [Unstoppable] shields clean-up from stop requests.
//   - [Queue] passes items between tasks, and [Cond] lets them wait for each other: a channel, a sync.Cond or a mutex
//     that is held in an Await would block their thread forever.
//
// # What it guarantees
//
//   - A task runs on the scheduler of its receiver's environment, from its first instruction to its last, and
//     completes there. Wherever an awaited operation completes, the task continues on that scheduler (affinity).
//     Without a scheduler a task runs where it is started and where the awaited operations complete.
//   - If stop was requested before the task begins, or the scheduler is shutting down, the function is not called and
//     the task completes stopped. If the scheduler refuses the task, it completes with the reason. A limit of the
//     scheduler applies only to tasks that have not begun.
//   - Await starts a sender and returns what it completed with: [sender.ErrStopped] if it was stopped. If the sender
//     completes inside its Start, the task continues immediately, without a deeper stack. Otherwise the task is
//     suspended, and its scheduler runs other work.
//   - A task that is suspended holds the operation state of what it awaits, and no other. When the operation has
//     completed, the state is kept for the scheduler's next await of the same type, so awaiting in a loop allocates
//     nothing.
//   - Awaited operations have the task's environment: its scheduler, its receiver's stop token (except inside
//     Unstoppable), and its receiver's answers to queries.
//   - A function that returns nil completes the task with a value. One that returns sender.ErrStopped, or an error that
//     wraps it, completes the task stopped. Any other error is the task's error. All deferred functions have run
//     before the task completes.
//   - A panic of the function completes the task with a [*sender.PanicError], runtime.Goexit with [sender.ErrGoexit].
//     defer and recover work as usual.
//
// # Where the function runs
//
// On a [CoroutineScheduler], such as a reactor's loop, the function is a coroutine on the thread of the scheduler. A
// switch to it and back takes no lock and no other goroutine. What the function awaits is started on the scheduler's
// own stack if its sender is [sender.Affine], as those of a loop are: so a function that itself is not deep keeps a
// stack of 2 KiB. On any other scheduler the function has its own
// goroutine, which runs only while the scheduler's thread waits for it: so it never runs concurrently with the
// scheduler's other work, but it is not on the scheduler's thread.
//
// # What a function must not do
//
//   - It must not block on something that its scheduler has yet to do.
//   - It awaits only with its own T, on its own goroutine, one sender at a time, and not after it has returned.
//     Everything else panics. (On a CoroutineScheduler, on systems where threads have ids, iterators that the function
//     pulls may await too.)
//   - It must not await between runtime.LockOSThread and UnlockOSThread: on a CoroutineScheduler the Go runtime ends
//     the program. It must not await in a stop handler, because the stop request waits for the handler.
//
// # The end of a scheduler
//
// A CoroutineScheduler that ends sends a stop request to the operations that its tasks await, except inside
// Unstoppable, and waits for the tasks. When it cannot wait any longer, it abandons them, and an [AbandonedError] names
// where they waited. [Op.Abandon] does that to one task. Another scheduler abandons a task by refusing to resume it.
//
// In an abandoned task, the Await for which it is suspended returns its result or, without one, sender.ErrStopped. The
// next Await ends the function as runtime.Goexit does: it runs the deferred functions, in which Await returns
// sender.ErrStopped immediately. The task completes stopped, or with the reason for which it was refused (see
// [sender.Runner]), unless its function has returned something else. The operation that it awaited may still be in
// flight then: its result is dropped, and its environment no longer answers queries.
//
// Source: P3552R3 (a coroutine task type). The reuse of operation states and of coroutines replaces its allocators.
package task
