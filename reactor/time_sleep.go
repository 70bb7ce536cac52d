package reactor

import (
	"math"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/timerqueue"
)

// Timers live in the loop's heap and never enter the ring; the nearest deadline is how long the loop
// sleeps.

// Timer is the light form of a timer: a node that its owner embeds, whose Handler is called on the
// loop's thread. It holds nothing: a loop that ends drops those pending.
type Timer = timerqueue.Timer

// SetTimer makes t due at the time at, in nanoseconds as of Now; it moves t if it is pending.
func (l *Loop) SetTimer(t *Timer, at int64) { l.timers.Update(t, at) }

// StopTimer makes t not pending, and reports whether it was.
func (l *Loop) StopTimer(t *Timer) bool { return l.timers.Remove(t) }

// after is the time d after t, or the end of time.
func after(t, d int64) int64 {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// sleepSender waits. See Loop.SleepFor and Loop.SleepUntil.
type sleepSender struct {
	affine
	l   *Loop
	d   time.Duration
	abs bool
}

// SleepFor is a sender that completes d after it was started, on the loop's thread. A stop request
// ends it at once, stopped.
func (l *Loop) SleepFor(d time.Duration) sleepSender { return sleepSender{l: l, d: d} }

// SleepUntil is a sender that completes at the time at, in nanoseconds as of Now.
func (l *Loop) SleepUntil(at int64) sleepSender {
	return sleepSender{l: l, d: time.Duration(at), abs: true}
}

// Connect prepares op.
func (c sleepSender) Connect(op *SleepOp, r sender.Receiver[struct{}]) sender.Operation {
	op.l, op.d, op.abs, op.r = c.l, c.d, c.abs, r
	op.timer.Init((*sleepTimer)(op))
	return op
}

// SleepOp is the operation state of SleepFor and SleepUntil.
type SleepOp struct {
	handle
	timer   timerqueue.Timer
	l       *Loop
	d       time.Duration
	r       sender.Receiver[struct{}]
	onStop  stop.Callback
	abs     bool
	begun   bool // and not completed
	stopped bool
}

// Start begins to wait. It may be called again after each completion.
func (o *SleepOp) Start() {
	l := o.l
	l.assertOnThread()
	if o.begun {
		panic("reactor: Start of a *reactor.SleepOp that has not completed: start it again from its completion, or use another operation state")
	}
	o.begun = true
	o.id = l.slots.take(o, nil)
	o.stopped = false
	token := o.r.Env().StopToken()
	if l.phase != phaseRunning || token.StopRequested() {
		o.end()
		return
	}
	at := int64(o.d)
	if !o.abs {
		at = after(l.sys.Clock(), at) // not Now: this turn may have lasted a while
	}
	l.timers.Push(&o.timer, at)
	if token.StopPossible() {
		o.onStop.Register(token, (*sleepStop)(o))
	}
}

// Reset moves the time at which an operation in flight completes to at, in nanoseconds as of Loop.Now, in
// place: later or sooner, in O(log n). It reports whether it could; false: the operation is complete, or about
// to be. On the loop's thread.
func (o *SleepOp) Reset(at int64) bool {
	if !o.timer.Pending() {
		return false
	}
	o.l.timers.Update(&o.timer, at)
	return true
}

// end makes the operation finish stopped.
func (o *SleepOp) end() {
	o.stopped = true
	o.l.ready = append(o.l.ready, o.id)
}

func (o *SleepOp) cancel() {
	if o.l.timers.Remove(&o.timer) {
		o.end()
	}
}

func (o *SleepOp) item(int32, uint32) {}

func (o *SleepOp) finish() {
	o.onStop.Deregister()
	o.l.retire(&o.handle)
	o.begun = false
	if o.stopped {
		o.r.SetStopped()
	} else {
		o.r.SetValue(struct{}{})
	}
}

// sleepTimer is a SleepOp as the handler of its timer.
type sleepTimer SleepOp

func (t *sleepTimer) OnTimer(int64) { (*SleepOp)(t).finish() }

// sleepStop is a SleepOp as the handler of its stop callback.
type sleepStop SleepOp

// OnStop implements stop.Handler.
func (s *sleepStop) OnStop() { s.l.requestStop(&s.handle) }
