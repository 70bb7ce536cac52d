// Package sched has schedulers: handles to the resources that run work.
//
//	pool := sched.NewThreadPool(sched.ThreadPoolConfig{Workers: 4})
//	defer pool.Close()
//	n, err := sender.SyncWait(ctx, sender.StartsOn(pool, work))
//
// # What there is
//
// All of them are [sender.Scheduler]: Enqueue takes work in storage that the caller owns, from any thread. Those with a
// clock are [sender.TimedScheduler] too: EnqueueAt takes a deadline and a stop token. All are comparable, and equal if
// they stand for the same resource. The last column says what ends the resource:
//
//	Inline            the caller's thread                     never
//	RunLoop           the thread that calls Run               Finish; Run returns when no work is left
//	TimedRunLoop      the thread that calls Run       timed   the token of Run; as RunLoop, but timers are stopped
//	Goroutines        a new goroutine for each        timed   never
//	NewThread         a new OS thread for each        timed   never
//	ThreadPool        a fixed number of goroutines            Close; work that comes while it waits is stopped
//	ThreadDispatcher  a fixed number of OS threads            Close; as ThreadPool
//	Fallback          the first of two, or the second         as the second, for work that the first abandons
//	TimedFallback     as Fallback                     timed   as Fallback
//	Deadline          another scheduler, if in time           as that scheduler
//	Any               any of them                             as that scheduler
//
// A reactor's Loop is a timed scheduler too. It ends as a TimedRunLoop does.
//
// # What they guarantee
//
//   - Every unit of work is called back exactly once: by Run on the resource or, if the resource does not run it, by
//     Abandon with the reason.
//   - Work that a resource has accepted runs before the resource is closed.
//   - Enqueue and EnqueueAt allocate nothing, except those of Goroutines and NewThread. Fallback and Deadline take
//     their storage from pools.
//
// The owner closes a resource when the operations that use it have been joined. Operations that come later complete
// with [sender.ErrClosed].
//
// # Stopped and refused
//
// Work that is abandoned with [sender.ErrStopped] completes stopped: stop was requested, or the resource is shutting
// down. With any other reason it was refused, and completes with that reason as its error, so that Retry, Fallback and
// UponError handle it:
//
//	sender.ErrClosed         the resource had ended before the work came: Run or Close has returned
//	sender.ErrFull           the limit of a ThreadPool is reached; new work only
//	os.ErrDeadlineExceeded   a Deadline was missed
//
// # Goexit
//
// Work that ends its goroutine by runtime.Goexit does not end the resource. ThreadPool and ThreadDispatcher start
// another goroutine in its place. A run loop must stay on its thread, so it continues in the deferred functions of that
// goroutine: Run does not return to its caller, and the goroutine ends when the loop has ended. Each Goexit leaves its
// frames on the stack until then, less than a KiB for a small function.
//
// # Timed schedulers of your own
//
// A resource that keeps its timers on one thread implements [sender.TimerDriver], and its EnqueueAt calls
// [sender.TimedWork.Submit]. It needs a queue, a timer heap (package timerqueue), and the thread that drives both.
//
// Source: P1525R1 (schedulers), P2300R10 [exec.sched], P3552R3 [exec.inline.scheduler] and [exec.task.scheduler], and
// the article on sender factories (timed schedulers), see PAPERS.md of package sender.
package sched
