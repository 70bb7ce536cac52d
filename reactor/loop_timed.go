//go:build linux

package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

var _ sender.TimedScheduler = (*Loop)(nil)

// Clock returns the time, in nanoseconds on the clock of [Loop.Now]. From any thread. It is part of
// [sender.TimedScheduler].
func (l *Loop) Clock() int64 { return l.sys.Clock() }

// EnqueueAt runs w on the loop's thread when Clock reaches deadline. It abandons w there if token stops before that, or
// if the loop drains. From any thread. When the loop has drained it refuses w immediately, on the calling thread, with
// [sender.ErrClosed]. It allocates nothing.
//
// It makes a Loop a [sender.TimedScheduler]. On the loop's thread [Loop.SleepFor] does the same in fewer steps.
func (l *Loop) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	w.Submit((*driver)(l), deadline, token)
}

// driver implements the driver of timed work on a Loop.
type driver Loop

func (d *driver) Enqueue(w *sender.Work) { (*Loop)(d).Enqueue(w) }

// Arm gives w a slot, so that a drain finds it, and starts its timer.
func (d *driver) Arm(w *sender.TimedWork) {
	if due := w.Deadline() <= d.now; due || d.phase != phaseRunning {
		w.Settle(due && d.phase == phaseRunning)
		return
	}
	w.Tag = d.slots.take((*timedWork)(w), nil)
	w.Timer().Init((*timedWork)(w))
	d.timers.Push(w.Timer(), w.Deadline())
}

func (d *driver) Disarm(w *sender.TimedWork) bool {
	if !d.timers.Remove(w.Timer()) {
		return false
	}
	d.slots.release(w.Tag)
	return true
}

// timedWork is timed work as an operation that has a slot, and as the handler of its timer.
type timedWork sender.TimedWork

func (w *timedWork) work() *sender.TimedWork { return (*sender.TimedWork)(w) }

func (w *timedWork) loop() *Loop { return (*Loop)(w.work().Driver().(*driver)) }

func (w *timedWork) OnTimer(int64) { w.settle(true) }

// cancel makes pending work ready to be abandoned, because the loop drains.
func (w *timedWork) cancel() {
	if l := w.loop(); l.timers.Remove(w.work().Timer()) {
		l.ready = append(l.ready, w.Tag)
	}
}

func (w *timedWork) onCompletion(outcome) { w.settle(false) }

func (w *timedWork) settle(due bool) {
	w.loop().slots.release(w.Tag)
	w.work().Settle(due)
}
