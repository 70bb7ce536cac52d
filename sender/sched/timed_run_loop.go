package sched

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// TimedRunLoop is a TimedScheduler, driven by the thread that calls Run: a mutex, a queue of what was
// submitted, and an indexed heap of timers. A timer is cancelled by a second operation, which is
// submitted as any other is, and the timer's receiver hears of the end when both are done: see Handshake.
// The zero value is ready; it must not be copied.
//
// Work runs in the order it was submitted in, timers in the order of their deadlines and, among equal
// ones, of their submission. A turn takes what was submitted when it began, and then the timers that are
// due, so that neither starves the other. Nothing allocates but the heap, as it grows.
//
// Source: the timed_run_loop of the article on sender factories.
type TimedRunLoop struct{ timedLoop }

// EnqueueAt implements sender.TimedScheduler.
func (l *TimedRunLoop) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	(*Handshake)(w).Submit((*timedDriver)(l), deadline, token)
}

// timedDriver is a TimedRunLoop as a Driver.
type timedDriver TimedRunLoop

func (d *timedDriver) Enqueue(w *sender.Work)          { d.timedLoop.Enqueue(w) }
func (d *timedDriver) Arm(w *sender.TimedWork)         { d.arm(w, (*armed)(w)) }
func (d *timedDriver) Disarm(w *sender.TimedWork) bool { return d.timers.Remove(&w.Timer) }

// armed is timed work as the handler of its timer.
type armed sender.TimedWork

func (a *armed) OnTimer(now int64) { (*Handshake)(a).Settle(a.Deadline <= now) }
