// Package sched is about where work runs: schedulers, and the resources that they are handles to.
//
// # The contract
//
// All of them are sender.Scheduler: Enqueue takes work in storage that the caller owns, from any thread,
// and calls it back exactly once, by Run on the resource or, when the resource refuses it, by Abandon.
// Those with a clock are sender.TimedScheduler, too: EnqueueAt takes a deadline and a stop token. All are
// comparable, and equal when they are of one resource. What follows says how each of them ends:
//
//	Inline            the caller                              never refuses
//	RunLoop           the thread that calls Run               Finish; refuses when Run has returned
//	TimedRunLoop      the thread that calls Run       timed   the token of Run; refuses when it has returned
//	CommandRunLoop    the same, cancelling otherwise  timed   the same
//	NewThread         a new OS thread for each        timed   never refuses
//	ThreadPool        a fixed number of goroutines            Close; refuses from then on, and beyond its limit
//	ThreadDispatcher  a fixed number of OS threads            Close; refuses from then on
//	Fallback          the first of two, or the second         refuses what both refuse
//	TimedFallback     the same                        timed   the same
//	Deadline          another scheduler, if in time           refuses what that does, or is too late for
//	Any               any of them                             as it does
//
// A reactor's Loop is a timed one as well.
//
// What a resource has accepted it calls before it is closed: nothing is forgotten, nothing is called
// twice. A resource is closed by whoever made it, when the operations that use it have been joined;
// those that are late complete stopped.
//
// # Storage
//
// Enqueue and EnqueueAt allocate nothing, but for NewThread. Fallback and Deadline take what they need
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
