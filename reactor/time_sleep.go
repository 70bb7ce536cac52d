//go:build linux

package reactor

import (
	"math"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// Timers are in the loop's heap and never enter the ring; the loop sleeps until the nearest deadline.

// Timer is the light form of a timer: a node that its owner embeds, whose Handler is called on the
// loop's thread. It holds nothing: a loop that ends drops those pending.
type Timer = timerqueue.Timer

// SetTimer makes t due at the time at, in nanoseconds as of Now; it moves t if it is pending.
func (l *Loop) SetTimer(t *Timer, at int64) {
	l.assertOnThread()
	if t.Handler == nil {
		panic("reactor: SetTimer of a Timer without a handler: call its Init first")
	}
	l.timers.Update(t, at)
}

// StopTimer makes t not pending, and reports whether it was.
func (l *Loop) StopTimer(t *Timer) bool { return l.timers.Remove(t) }

// after returns the time d after t, or the end of time.
func after(t, d int64) int64 {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// SleepSender waits. See [Loop.SleepFor] and [Loop.SleepUntil].
type SleepSender struct {
	affine
	l   *Loop
	d   time.Duration
	abs bool
}

// SleepFor returns a sender that completes d after it was started, on the loop's thread. A stop request ends it
// immediately, stopped.
func (l *Loop) SleepFor(d time.Duration) SleepSender { return SleepSender{l: l, d: d} }

// SleepUntil returns a sender that completes at the time at, in nanoseconds as of [Loop.Now].
func (l *Loop) SleepUntil(at int64) SleepSender {
	return SleepSender{l: l, d: time.Duration(at), abs: true}
}

// Connect implements [sender.Sender].
func (c SleepSender) Connect(op *SleepOp, r sender.Receiver[struct{}]) sender.Operation {
	op.loop, op.d, op.abs, op.r = c.l, c.d, c.abs, r
	op.timer.Init((*sleepTimer)(op))
	return op
}

// SleepOp is the operation state of [Loop.SleepFor] and [Loop.SleepUntil].
type SleepOp struct {
	timed
	d time.Duration
	r sender.Receiver[struct{}]
}

// Start begins to wait. It may be called again after each completion.
func (o *SleepOp) Start() {
	if o.loop == nil || o.r == nil {
		panicUnconnected(o.loop, o.r == nil)
	}
	token := o.r.Env().StopToken()
	if !o.begin(o, token) {
		return
	}
	at := int64(o.d)
	if !o.abs {
		at = after(o.loop.sys.Clock(), at) // not Now: this turn may have lasted a while
	}
	o.loop.timers.Push(&o.timer, at)
	o.watch(token)
}

// Reset moves the time at which an operation in flight completes to at, in nanoseconds as of [Loop.Now], in place:
// later or sooner, in O(log n). It reports false if the operation has completed, or is about to. On the loop's thread.
func (o *SleepOp) Reset(at int64) bool {
	o.loop.assertOnThread()
	if !o.timer.Pending() {
		return false
	}
	o.loop.timers.Update(&o.timer, at)
	return true
}

func (o *SleepOp) onCompletion(out outcome) {
	o.release()
	if out.done() {
		o.r.SetValue(struct{}{})
	} else {
		o.r.SetStopped()
	}
}

// sleepTimer handles the timer of a SleepOp.
type sleepTimer SleepOp

func (t *sleepTimer) OnTimer(int64) { (*SleepOp)(t).onCompletion(outcome{kind: outcomeDone}) }

// timed is the common part of operation states that wait for timers only, as op is of those that the ring sees.
type timed struct {
	_      noCopy
	loop   *Loop
	id     uint64 // in the slot table, from Start until the completion
	timer  timerqueue.Timer
	onStop *stopWatch // registered with the stop token; nil if that cannot stop
	state  timedState
	abs    bool // the operation was given a time, not how long after Start; here it takes no room
}

// timedState says who acts next on a timed operation.
//
//	idle    → waiting  Start
//	waiting → settled  its timer has expired; or it was asked to stop, and is in the loop's ready queue
//	settled → idle     it was released; then the receiver is called
type timedState uint8

const (
	timedIdle timedState = iota
	timedWaiting
	timedSettled // there is nothing to cancel
)

// begin takes a slot, or reports false if the operation completes stopped.
func (o *timed) begin(run operation, token stop.Token) bool {
	l := o.loop
	l.assertOnThread()
	if o.state != timedIdle {
		panicStarted(run)
	}
	o.id, o.state = l.slots.take(run, nil), timedWaiting
	if l.phase != phaseRunning || token.StopRequested() {
		o.cancel()
		return false
	}
	return true
}

// watch registers the stop callback.
func (o *timed) watch(token stop.Token) {
	if token.StopPossible() {
		o.onStop = o.loop.takeWatch(o.id, token)
	}
}

func (o *timed) cancel() {
	if o.state == timedWaiting {
		o.state = timedSettled
		o.loop.timers.Remove(&o.timer)
		o.loop.ready = append(o.loop.ready, o.id)
	}
}

// release makes the operation idle: its storage is the owner's again.
func (o *timed) release() {
	o.state = timedSettled
	if o.onStop != nil {
		o.loop.putWatch(o.onStop)
		o.onStop = nil
	}
	o.loop.retire(o.id)
	o.state = timedIdle
}
