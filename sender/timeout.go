package sender

import (
	"os"

	"github.com/reactord/reactord/sender/internal/aftergoexit"
)

// Timeout completes as s does, but asks it to stop when timer completes first. If s then completes
// stopped, or with the error of a context that was cancelled by the request (see Complete), the result is
// os.ErrDeadlineExceeded; a value or another error that s had all the same is delivered. Both are waited for. If stop was requested before Start, neither is started.
//
// timer is usually a loop's SleepFor. If it fails, its error is treated as the deadline is, and
// delivered in place of os.ErrDeadlineExceeded; if it completes stopped there is no deadline.
//
// s is started before timer. A stop request is forwarded to both. It completes where the last of the two
// does. Nothing is allocated.
//
// Source: libunifex's stop_when over schedule_after; P1525R1 §2.2 for the deadline as an error.
func Timeout[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[struct{}, O2]](
	s S1, timer S2,
) TimeoutSender[T, O1, O2, S1, S2] {
	return TimeoutSender[T, O1, O2, S1, S2]{s, timer}
}

// TimeoutSender is what Timeout returns.
type TimeoutSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[struct{}, O2]] struct {
	s     S1
	timer S2
}

// TimeoutOp is the operation state of Timeout.
type TimeoutOp[T, O1, O2 any] struct {
	guard  guard[T]
	child  O1
	timer  O2
	starts [2]Operation
}

// Connect implements Sender.
func (s TimeoutSender[T, O1, O2, S1, S2]) Connect(op *TimeoutOp[T, O1, O2], r Receiver[T]) Operation {
	op.guard.r = r
	op.starts[0] = s.s.Connect(&op.child, (*guardChild[T])(&op.guard))
	op.starts[1] = s.timer.Connect(&op.timer, (*deadline[T])(&op.guard))
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *TimeoutSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), CompletionBehaviorOf(&s.timer))
}

// Start implements Operation.
func (op *TimeoutOp[T, O1, O2]) Start() {
	if op.guard.begin() {
		startAll(op.starts[:])
	}
}

// deadline is the timer's receiver.
type deadline[T any] guard[T]

// expire stops the child for the reason given, unless something else has stopped it before.
func (d *deadline[T]) expire(cause error) {
	// If somebody who is asked to stop ends this frame by runtime.Goexit, this was the first to ask.
	returned := false
	defer aftergoexit.Run(&returned, func() { d.expired(cause) })
	first := d.group.RequestStop()
	returned = true
	if first {
		d.expired(cause)
	} else {
		d.group.Leave()
	}
}

// expired is the end of a deadline that has stopped the child.
func (d *deadline[T]) expired(cause error) {
	d.cause = cause // read once both have left
	d.group.Leave()
}

func (d *deadline[T]) SetValue(struct{})  { d.expire(os.ErrDeadlineExceeded) }
func (d *deadline[T]) SetError(err error) { d.expire(err) }
func (d *deadline[T]) SetStopped()        { d.group.Leave() }
func (d *deadline[T]) Env() Env           { return &d.group }
