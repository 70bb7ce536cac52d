// Package task writes asynchronous work in direct style: a function that awaits senders, and is a
// sender itself.
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
// # The contract of a task
//
//   - A task runs on the scheduler of its receiver's environment, from its first instruction to its
//     last, and completes there. Wherever an awaited operation completes, its result is taken up on
//     that scheduler (affinity). Without a scheduler a task runs wherever it is started and resumed.
//   - If stop was requested before its first turn, or the scheduler is shutting down, the function is
//     not called and the task completes stopped; if the scheduler refuses it, with the reason. A limit of
//     the scheduler is for tasks that have not begun.
//   - Await starts a sender and returns what it completed with; sender.ErrStopped if it was stopped.
//     If it completes before its Start has returned the task goes on at once, without a switch and
//     without a deeper stack. Otherwise the task is suspended, and its scheduler does something else.
//   - The operation state of an awaited sender is kept by type for the next await, so that awaiting in
//     a loop allocates nothing.
//   - Awaited operations have the task's environment: its scheduler, its receiver's stop token unless
//     Unstoppable shields it, and its receiver's answers to open queries.
//   - A function that returns nil completes the task with a value; one that returns an error that is
//     sender.ErrStopped, or wraps it, completes it stopped; any other error is the task's error. All
//     deferred functions have run by then.
//   - A panic of the function completes the task with a *sender.PanicError, runtime.Goexit with
//     sender.ErrGoexit. defer and recover work as ever.
//
// # Where the function runs
//
// On a Resident scheduler, such as a reactor's loop, the function is a coroutine on the very thread of
// the scheduler: switching to it and back takes no lock and no other goroutine. On any other scheduler
// it has a goroutine of its own, which runs only while the scheduler's thread waits for it: the
// function has its scheduler's turn, though not its thread.
//
// # What a function must not do
//
// It is on a scheduler's time: it does not block for what that scheduler has yet to do. It awaits only
// with its own T, on its own goroutine, one sender at a time, and not once it has returned; whatever
// breaks that panics. (On a Resident scheduler, where threads can be told apart, iterators that the
// function pulls may await as well.) And it does not await between runtime.LockOSThread and UnlockOSThread, for which on
// a Resident scheduler the Go runtime ends the program, nor in a stop handler, for which others may wait.
//
// # The end of a scheduler
//
// A Resident scheduler that ends asks for the end of what its tasks await, but in Unstoppable, and waits
// for them, as it waits for all that is in flight on it. When it can wait no longer, and when another
// scheduler abandons a task, the task is cut short: the await it is suspended in returns what it has, or
// sender.ErrStopped, and further ones end the function as runtime.Goexit does, running its deferred
// functions, in which Await returns sender.ErrStopped at once. The task completes stopped, or with the
// reason for which it was refused (see sender.Runner), unless its function returned something else. What
// it awaited may still be in flight then: its result is dropped, and its environment has no answers to open
// queries any more.
//
// Source: P3552R3 (a coroutine task type). What it says of allocators is here the reuse of operation
// states and of coroutines.
package task
