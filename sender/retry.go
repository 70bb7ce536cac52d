package sender

import "github.com/reactord/reactord/sender/stop"

// Retry connects and starts s again whenever it fails and again says so, which is told how many
// attempts have failed, from 1, and the latest error. Otherwise it completes as the last attempt does.
// If stop was requested between two attempts it completes stopped.
//
// An attempt begins where the previous one failed, unless that happened before its Start returned:
// then where that Start was called. The stack does not grow, and nothing is allocated.
//
// Source: stdexec's example retry, libunifex's retry_when.
func Retry[T, O any, P Operation[O], S Sender[T, O]](s S, again func(failed int, err error) bool) RetrySender[
	T, struct{}, O, JustOp[struct{}], P, *JustOp[struct{}], S, JustSender[struct{}],
] {
	return RetryAfter[T, struct{}, O, JustOp[struct{}], P, *JustOp[struct{}]](
		s, func(failed int, err error) (JustSender[struct{}], bool) { return Just(struct{}{}), again(failed, err) })
}

// RetryAfter is Retry that waits between two attempts, for the sender that backOff makes; usually a
// timer. What that completes with is dropped, but if it fails its error is delivered, and if it is
// stopped RetryAfter completes stopped. The next attempt begins where the back-off completes.
func RetryAfter[T, U, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, backOff func(failed int, err error) (wait S2, again bool),
) RetrySender[T, U, O1, O2, P1, P2, S1, S2] {
	return RetrySender[T, U, O1, O2, P1, P2, S1, S2]{s, backOff}
}

// RetrySender is what Retry and RetryAfter return.
type RetrySender[T, U, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	backOff func(int, error) (S2, bool)
}

// RetryOp is the operation state of Retry and RetryAfter.
type RetryOp[T, U, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	rounds
	child   O1
	wait    O2
	s       S1
	backOff func(int, error) (S2, bool)
	r       Receiver[T]
	token   stop.Token
	failed  int  // attempts
	waiting bool // what comes next is the wait, which is connected
}

// Connect implements Sender.
func (s RetrySender[T, U, O1, O2, P1, P2, S1, S2]) Connect(op *RetryOp[T, U, O1, O2, P1, P2, S1, S2], r Receiver[T]) {
	op.s, op.backOff, op.r = s.s, s.backOff, r
}

// Completion implements Completer.
func (s *RetrySender[T, U, O1, O2, P1, P2, S1, S2]) Completion() Completion {
	return min(CompletionOf(&s.s), completionOfType[S2]())
}

// Start implements Operation.
func (op *RetryOp[T, U, O1, O2, P1, P2, S1, S2]) Start() {
	op.token = op.r.Env().StopToken()
	op.failed, op.waiting = 0, false
	op.start()
	op.run()
}

// run starts attempts and waits in turn until one does not complete at once, or is the last.
func (op *RetryOp[T, U, O1, O2, P1, P2, S1, S2]) run() {
	t, child := op.turn, (*retryReceiver[T, U, O1, O2, P1, P2, S1, S2])(op)
	for {
		t.begin()
		if op.token.StopRequested() {
			child.SetStopped()
		} else if op.waiting {
			P2(&op.wait).Start()
		} else if err := protect(func() { op.s.Connect(&op.child, child) }); err != nil {
			op.end()
			op.r.SetError(err)
		} else {
			P1(&op.child).Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			return
		}
	}
}

// next goes on with what comes next, here or in the frame that is below.
func (op *RetryOp[T, U, O1, O2, P1, P2, S1, S2]) next() {
	if !op.turn.hand() {
		op.run()
	}
}

// fail makes ready for the wait, and says whether there is one, or what there is to report instead.
func (op *RetryOp[T, U, O1, O2, P1, P2, S1, S2]) fail(err error) (again bool, report error) {
	op.failed++
	failure := protect(func() {
		var wait S2
		if wait, again = op.backOff(op.failed, err); again {
			wait.Connect(&op.wait, (*retryWait[T, U, O1, O2, P1, P2, S1, S2])(op))
		}
	})
	if failure != nil {
		return false, failure
	}
	return again, err
}

// retryReceiver is an attempt's receiver.
type retryReceiver[T, U, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[U, O2]] RetryOp[T, U, O1, O2, P1, P2, S1, S2]

func (r *retryReceiver[T, U, O1, O2, P1, P2, S1, S2]) SetError(err error) {
	op := (*RetryOp[T, U, O1, O2, P1, P2, S1, S2])(r)
	again, err := op.fail(err)
	if !again {
		op.end()
		op.r.SetError(err)
		return
	}
	op.waiting = true
	op.next()
}

func (r *retryReceiver[T, U, O1, O2, P1, P2, S1, S2]) SetValue(v T) {
	r.end()
	r.r.SetValue(v)
}

func (r *retryReceiver[T, U, O1, O2, P1, P2, S1, S2]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *retryReceiver[T, U, O1, O2, P1, P2, S1, S2]) Env() Env { return r.r.Env() }

// retryWait is the receiver of a wait.
type retryWait[T, U, O1, O2 any, P1 Operation[O1], P2 Operation[O2], S1 Sender[T, O1], S2 Sender[U, O2]] RetryOp[T, U, O1, O2, P1, P2, S1, S2]

func (r *retryWait[T, U, O1, O2, P1, P2, S1, S2]) SetValue(U) {
	op := (*RetryOp[T, U, O1, O2, P1, P2, S1, S2])(r)
	op.waiting = false
	op.next()
}

func (r *retryWait[T, U, O1, O2, P1, P2, S1, S2]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *retryWait[T, U, O1, O2, P1, P2, S1, S2]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *retryWait[T, U, O1, O2, P1, P2, S1, S2]) Env() Env { return r.r.Env() }
