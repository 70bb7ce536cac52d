// Package sched is about where work runs: schedulers, and the resources that they are handles to.
//
// # The contract
//
// All of them are sender.Scheduler: Enqueue takes work in storage that the caller owns, from any thread,
// and calls it back exactly once, by Run on the resource or, when the resource does not run it, by Abandon
// with the reason.
// Those with a clock are sender.TimedScheduler, too: EnqueueAt takes a deadline and a stop token. All are
// comparable, and equal when they are of one resource. What follows says how each of them ends:
//
//	Inline            the caller                              never
//	RunLoop           the thread that calls Run               Finish; until Run returns it runs all there is
//	TimedRunLoop      the thread that calls Run       timed   the token of Run; the same, but timers are stopped
//	CommandRunLoop    the same, cancelling otherwise  timed   the same
//	Goroutines        a new goroutine for each        timed   never
//	NewThread         a new OS thread for each        timed   never
//	ThreadPool        a fixed number of goroutines            Close; what comes while that waits is stopped
//	ThreadDispatcher  a fixed number of OS threads            the same
//	Fallback          the first of two, or the second         as the second, for what the first abandons
//	TimedFallback     the same                        timed   the same
//	Deadline          another scheduler, if in time           as that one
//	Any               any of them                             as it does
//
// A reactor's Loop is a timed one as well, and ends as a TimedRunLoop does.
//
// # Stopped and refused
//
// Work that is abandoned for sender.ErrStopped completes stopped: stop was requested, or its resource is
// shutting down. For any other reason it was refused, and completes with that error through every algorithm,
// so that Retry, Fallback and UponError hear of it:
//
//	sender.ErrClosed         the resource had ended before the work came: Run or Close has returned
//	sender.ErrFull           as much is waiting as a ThreadPool's Limit allows; new work only
//	os.ErrDeadlineExceeded   a Deadline was missed
//
// What a resource has accepted it calls before it is closed: nothing is forgotten, nothing is called
// twice. A resource is closed by whoever made it, when the operations that use it have been joined;
// those that are late complete with sender.ErrClosed.
//
// # Goexit
//
// Work that ends its goroutine by runtime.Goexit does not end the resource. ThreadPool and ThreadDispatcher
// start another goroutine in its place. The thread that drives a run loop is not to be changed, so the loop
// goes on in the deferred functions of that goroutine: Run does not return to its caller, but the goroutine
// ends when the loop has. What a Goexit left on the stack stays there until then, less than a KiB each with a
// small function.
//
// # Storage
//
// Enqueue and EnqueueAt allocate nothing, but for Goroutines and NewThread. Fallback and Deadline take what they need
// from pools.
//
// # Timers
//
// Cancelling a timer is a request to whoever keeps it. Handshake is how that is made safe without waiting
// for it, and is there for other loops to use: it needs a queue, a heap, and one thread that drives both.
//
// Source: P1525R1 (schedulers), P2300R10 [exec.sched], P3552R3 [exec.inline.scheduler] and
// [exec.task.scheduler], and the article on sender factories (timed schedulers).
package sched
