package sender

import "os"

// Timeout completes as s does, but asks it to stop when timer completes first. If s then completes
// stopped the result is os.ErrDeadlineExceeded; a value that s had all the same is delivered. Both are
// waited for. If stop was requested before Start, neither is started.
//
// timer is usually a loop's SleepFor. If it fails, its error is treated as the deadline is, and
// delivered in place of os.ErrDeadlineExceeded; if it completes stopped there is no deadline.
//
// s is started before timer. A stop request is forwarded to both. It completes where the last of the two
// does. Nothing is allocated.
//
// Source: libunifex's stop_when over schedule_after; P1525R1 §2.2 for the deadline as an error.
func Timeout[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[struct{}, O2]](
	s S1, timer S2,
) TimeoutSender[T, O1, O2, P1, P2, S1, S2] {
	return TimeoutSender[T, O1, O2, P1, P2, S1, S2]{s, timer}
}

// TimeoutSender is what Timeout returns.
type TimeoutSender[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[struct{}, O2]] struct {
	s     S1
	timer S2
}

// TimeoutOp is the operation state of Timeout.
type TimeoutOp[T, O1, O2 any, P1 Operation[O1], P2 Operation[O2]] struct {
	guard guard[T]
	child O1
	timer O2
}

// Connect implements Sender.
func (s TimeoutSender[T, O1, O2, P1, P2, S1, S2]) Connect(op *TimeoutOp[T, O1, O2, P1, P2], r Receiver[T]) {
	op.guard.r = r
	s.s.Connect(&op.child, (*guardChild[T])(&op.guard))
	s.timer.Connect(&op.timer, (*deadline[T])(&op.guard))
}

// Completion implements Completer.
func (s *TimeoutSender[T, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.s), CompletionOf(&s.timer))
}

// Start implements Operation.
func (op *TimeoutOp[T, O1, O2, P1, P2]) Start() {
	if op.guard.begin() {
		P1(&op.child).Start()
		P2(&op.timer).Start()
	}
}

// deadline is the timer's receiver.
type deadline[T any] guard[T]

// expire stops the child for the reason given, unless something else has stopped it before.
func (d *deadline[T]) expire(cause error) {
	if d.group.RequestStop() {
		d.cause = cause // read once both have left
	}
	d.group.Leave()
}

func (d *deadline[T]) SetValue(struct{})  { d.expire(os.ErrDeadlineExceeded) }
func (d *deadline[T]) SetError(err error) { d.expire(err) }
func (d *deadline[T]) SetStopped()        { d.group.Leave() }
func (d *deadline[T]) Env() Env           { return &d.group }
