//go:build linux

package reactor

import (
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
)

// Tick is an item of [Loop.Every].
type Tick struct {
	// At is the time that the tick was intended for, in nanoseconds as of Loop.Now. It is exactly on the schedule,
	// however late the tick is.
	At int64
	// Missed is the number of intended times that passed between the last tick and this one without a tick, because the
	// loop was busy or there was no credit.
	Missed uint64
}

// EverySender ticks. See [Loop.Every].
type EverySender struct {
	affine
	l      *Loop
	first  int64
	period int64
	credit int
	abs    bool
}

// Every returns a sequence of ticks at a fixed rate: the first a period after Start, and then each on a multiple of the
// period after the first, however late the ones before it were. A tick that is so late that others are due as well
// stands for them: it is intended for the last of them, and counts the others. A period of less than a nanosecond is
// one.
//
// credit is the number of ticks it may deliver; [EveryOp.Grant] adds to it (see "Credit"). Without credit no timer is
// set; the tick that comes when credit is granted again stands for those due meanwhile.
//
// The sequence ends when it is stopped.
func (l *Loop) Every(period time.Duration, credit int) EverySender {
	return EverySender{l: l, period: max(int64(period), 1), credit: credit}
}

// From makes the first tick due at the time at, in nanoseconds as of [Loop.Now]. If that is past, the first tick stands
// for those that are.
func (c EverySender) From(at int64) EverySender {
	c.first, c.abs = at, true
	return c
}

// Connect implements [seq.Sequence].
func (c EverySender) Connect(op *EveryOp, r seq.Receiver[Tick]) sender.Operation {
	op.loop, op.first, op.period, op.abs, op.r = c.l, c.first, c.period, c.abs, r
	op.credit.init(c.credit)
	op.timer.Init((*everyTimer)(op))
	return op
}

// EveryOp is the operation state of [Loop.Every].
type EveryOp struct {
	timed
	r      seq.Receiver[Tick]
	first  int64 // if abs
	period int64
	due    int64 // the next intended time
	credit
}

// Start sets the first timer. It may be called again after each completion.
func (o *EveryOp) Start() {
	if o.loop == nil || o.r == nil {
		panicUnconnected(o.loop, o.r == nil)
	}
	token := o.r.Env().StopToken()
	if !o.begin(o, token) {
		return
	}
	o.credit.reset()
	if o.due = o.first; !o.abs {
		o.due = after(o.loop.sys.Clock(), o.period)
	}
	o.loop.timers.Push(&o.timer, o.due)
	o.watch(token)
}

// Grant lets the sequence deliver n more ticks. On the loop's thread, while the sequence is in progress.
func (o *EveryOp) Grant(n int) {
	o.loop.assertOnThread()
	if o.credit.add(n) && o.state == timedWaiting {
		o.wait()
	}
}

// Scheduler implements [seq.Granter]: it returns the loop.
func (o *EveryOp) Scheduler() sender.Scheduler { return o.loop }

// Reset sets a new schedule in place: the next tick is due at the time at, and those after it each on a multiple of the
// period. Ticks of the old schedule that were due and not delivered are dropped. On the loop's thread, while the
// sequence is in progress.
func (o *EveryOp) Reset(at int64, period time.Duration) {
	o.loop.assertOnThread()
	o.due, o.period = at, max(int64(period), 1)
	if o.state == timedWaiting && !o.credit.waits {
		o.wait()
	}
}

// wait sets the timer, unless there is no credit.
func (o *EveryOp) wait() {
	if o.credit.waits = o.credit.left <= 0; !o.credit.waits {
		o.loop.timers.Update(&o.timer, o.due)
	}
}

func (o *EveryOp) onCompletion(outcome) {
	o.release()
	o.r.SetStopped()
}

// everyTimer handles the timer of an EveryOp.
type everyTimer EveryOp

func (t *everyTimer) OnTimer(now int64) {
	o := (*EveryOp)(t)
	missed := uint64(now-o.due) / uint64(o.period) // due is not after now, but may be far from it
	tick := Tick{At: o.due + int64(missed)*o.period, Missed: missed}
	o.due = after(tick.At, o.period)
	o.credit.spend(1)
	o.wait()
	o.r.SetNext(tick)
}
