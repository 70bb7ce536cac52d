package reactor

import (
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
	"github.com/reactord/reactord/sender/stop"
)

var _ sender.TimedScheduler = (*Loop)(nil)

// Clock is the time, in nanoseconds on the clock that Now is a reading of. From any thread.
func (l *Loop) Clock() int64 { return l.sys.Clock() }

// EnqueueAt runs w on the loop's thread when Clock reaches deadline, and abandons it there if token
// stops before that or the loop is draining. From any thread; when the loop has been drained w is
// refused at once, on the calling thread, with sender.ErrClosed. It allocates nothing.
//
// It makes a Loop a sender.TimedScheduler. On the loop's thread SleepFor does the same in fewer steps.
func (l *Loop) EnqueueAt(w *sender.TimedWork, deadline int64, token stop.Token) {
	(*sched.Handshake)(w).Submit((*driver)(l), deadline, token)
}

// driver is a Loop as what drives timed work.
type driver Loop

func (d *driver) Enqueue(w *sender.Work) { (*Loop)(d).Enqueue(w) }

// Arm gives w a slot, so that a drain finds it, and a place among the timers.
func (d *driver) Arm(w *sender.TimedWork) {
	if due := w.Deadline <= d.now; due || d.phase != phaseRunning {
		(*sched.Handshake)(w).Settle(due && d.phase == phaseRunning)
		return
	}
	w.Tag = d.slots.take((*timedWork)(w), nil)
	w.Timer.Init((*timedWork)(w))
	d.timers.Push(&w.Timer, w.Deadline)
}

func (d *driver) Disarm(w *sender.TimedWork) bool {
	if !d.timers.Remove(&w.Timer) {
		return false
	}
	d.slots.release(w.Tag)
	return true
}

// timedWork is timed work as what has a slot, and as the handler of its timer.
type timedWork sender.TimedWork

func (w *timedWork) loop() *Loop { return (*Loop)(w.Owner.(*driver)) }

func (w *timedWork) OnTimer(int64) {
	w.Due = true
	w.onCompletion(outcome{})
}

// cancel is called when the loop drains.
func (w *timedWork) cancel() {
	if l := w.loop(); l.timers.Remove(&w.Timer) {
		l.ready = append(l.ready, w.Tag)
	}
}

func (w *timedWork) onCompletion(outcome) {
	w.loop().slots.release(w.Tag)
	(*sched.Handshake)(w).Settle(w.Due)
}
