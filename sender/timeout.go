package sender

import (
	"os"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Timeout returns a sender that completes as s does, but requests s to stop when timer completes first. timer is
// usually [ScheduleAfter], or the SleepFor of a loop. s is started before timer, and both are waited for.
//
// Completion: where the last of the two completes. If s completes stopped after the deadline, or with the error of a
// context that was cancelled by the request (see [Complete]), the error is os.ErrDeadlineExceeded. If s has done a part
// of its work by then (see [PartialReceiver]), the error is a [PartialError] that has the part, and matches
// os.ErrDeadlineExceeded. A value or another error of s is delivered, also if it comes after the deadline. If timer
// fails, its error replaces os.ErrDeadlineExceeded; if timer completes stopped, there is no deadline.
//
// Cancellation: a stop request is forwarded to both. If stop was requested before Start, neither is started and it
// completes stopped.
//
// Source: libunifex's stop_when over schedule_after; P1525R1 §2.2 for the deadline as an error.
func Timeout[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[struct{}, O2]](
	s S1, timer S2,
) TimeoutSender[T, O1, O2, S1, S2] {
	return TimeoutSender[T, O1, O2, S1, S2]{s, timer}
}

// TimeoutSender is the sender that [Timeout] returns.
type TimeoutSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[struct{}, O2]] struct {
	s     S1
	timer S2
}

// TimeoutOp is the operation state of [TimeoutSender].
type TimeoutOp[T, O1, O2 any] struct {
	state  stopWhenState[T]
	child  O1
	timer  O2
	starts [2]Operation
}

// Connect implements [Sender].
func (s TimeoutSender[T, O1, O2, S1, S2]) Connect(op *TimeoutOp[T, O1, O2], r Receiver[T]) Operation {
	op.state.r = r
	op.starts[0] = s.s.Connect(&op.child, (*sourceReceiver[T])(&op.state))
	op.starts[1] = s.timer.Connect(&op.timer, (*timerReceiver[T])(&op.state))
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *TimeoutSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.timer))
}

// Start implements [Operation].
func (op *TimeoutOp[T, O1, O2]) Start() {
	if op.state.begin() {
		startAll(op.starts[:])
	}
}

// timerReceiver is the receiver of the timer.
type timerReceiver[T any] stopWhenState[T]

// expire requests the source to stop. If this is the first stop request, cause replaces stopped.
func (x *timerReceiver[T]) expire(cause error) {
	// If a stop handler ends this frame by runtime.Goexit, this was the first request.
	returned := false
	defer aftergoexit.Run(&returned, func() { x.expired(cause) })
	first := x.group.RequestStop()
	returned = true
	if first {
		x.expired(cause)
	} else {
		x.group.Arrive()
	}
}

// expired records the cause after the timer has stopped the source, and arrives.
func (x *timerReceiver[T]) expired(cause error) {
	x.cause = cause // OnJoined reads it
	x.group.Arrive()
}

func (x *timerReceiver[T]) SetValue(struct{})  { x.expire(os.ErrDeadlineExceeded) }
func (x *timerReceiver[T]) SetError(err error) { x.expire(err) }
func (x *timerReceiver[T]) SetStopped()        { x.group.Arrive() }
func (x *timerReceiver[T]) Env() Env           { return &x.group }
