package sender

import (
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Retry connects and starts s again whenever it fails and again says so, which is told how many
// attempts have failed, from 1, and the latest error. Otherwise it completes as the last attempt does.
// If stop was requested between two attempts it completes stopped.
//
// An attempt begins where the previous one failed, unless that happened before its Start returned:
// then where that Start was called. The stack does not grow. Connect allocates a copy of s, once for
// each operation state.
//
// Source: stdexec's example retry, libunifex's retry_when.
func Retry[T, O any, S Sender[T, O]](s S, again func(failed int, err error) bool) RetrySender[
	T, struct{}, O, JustOp[struct{}], S, JustSender[struct{}],
] {
	return RetryAfter[T, struct{}, O, JustOp[struct{}]](
		s, func(failed int, err error) (JustSender[struct{}], bool) { return Just(struct{}{}), again(failed, err) })
}

// RetryAfter is Retry that waits between two attempts, for the sender that backOff makes; usually a
// timer. What that completes with is dropped, but if it fails its error is delivered, and if it is
// stopped RetryAfter completes stopped. The next attempt begins where the back-off completes. failed counts
// the attempts from 1, so that again = failed < 3 is three attempts; what backOff returns beside false is
// not used.
func RetryAfter[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, backOff func(failed int, err error) (wait S2, again bool),
) RetrySender[T, U, O1, O2, S1, S2] {
	return RetrySender[T, U, O1, O2, S1, S2]{s, backOff}
}

// RetrySender is what Retry and RetryAfter return.
type RetrySender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	backOff func(int, error) (S2, bool)
}

// RetryOp is the operation state of Retry and RetryAfter.
type RetryOp[T, O1, O2 any] struct {
	rounds
	child     O1
	wait      O2
	startWait Operation
	s         kept[T, O1]
	backOff   backOff[T, O1, O2]
	r         Receiver[T]
	token     stop.Token
	failed    int  // attempts
	waiting   bool // what comes next is the wait, which is connected
}

// Connect implements Sender.
func (s RetrySender[T, U, O1, O2, S1, S2]) Connect(op *RetryOp[T, O1, O2], r Receiver[T]) Operation {
	op.s, op.backOff, op.r = keep(op.s, s.s), backOffFunc[T, U, O1, O2, S2](s.backOff), r
	return op
}

// CompletionBehavior implements CompletionDescriber.
func (s *RetrySender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionOfType[S2]())
}

// Start implements Operation.
func (op *RetryOp[T, O1, O2]) Start() {
	op.token = op.r.Env().StopToken()
	op.failed, op.waiting = 0, false
	op.start()
	op.run()
}

// run starts attempts and waits in turn until one does not complete at once, or is the last.
func (op *RetryOp[T, O1, O2]) run() {
	t, child := op.turn, (*retryReceiver[T, O1, O2])(op)
	// A function of the user's may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.again() {
			op.run()
		}
	})
	for {
		t.begin()
		var start Operation
		if op.token.StopRequested() {
			child.SetStopped()
		} else if op.waiting {
			op.startWait.Start()
		} else if protect(func() { start = op.s.connect(&op.child, child) }, op.giveUp) {
			start.Start()
		}
		// op may have completed meanwhile, here or elsewhere. Only t is still ours to look at.
		if !t.again() {
			returned = true
			return
		}
	}
}

// next goes on with what comes next, here or in the frame that is below.
func (op *RetryOp[T, O1, O2]) next() {
	if !op.turn.hand() {
		op.run()
	}
}

// giveUp completes with the error err.
func (op *RetryOp[T, O1, O2]) giveUp(err error) {
	op.end()
	op.r.SetError(err)
}

// backOff connects the sender that the user's function makes for a wait. It hides the types of the sender
// and of its value, as a continuation does.
type backOff[T, O1, O2 any] interface {
	connect(op *RetryOp[T, O1, O2], err error) (wait Operation, again bool)
}

type backOffFunc[T, U, O1, O2 any, S2 Sender[U, O2]] func(failed int, err error) (S2, bool)

func (f backOffFunc[T, U, O1, O2, S2]) connect(op *RetryOp[T, O1, O2], err error) (Operation, bool) {
	wait, again := f(op.failed, err)
	if !again {
		return nil, false
	}
	return wait.Connect(&op.wait, (*retryWait[T, U, O1, O2])(op)), true
}

// retryReceiver is an attempt's receiver.
type retryReceiver[T, O1, O2 any] RetryOp[T, O1, O2]

func (r *retryReceiver[T, O1, O2]) SetError(err error) {
	op := (*RetryOp[T, O1, O2])(r)
	op.failed++
	again := false
	switch {
	case !protect(func() { op.startWait, again = op.backOff.connect(op, err) }, op.giveUp):
	case again:
		op.waiting = true
		op.next()
	default:
		op.giveUp(err)
	}
}

func (r *retryReceiver[T, O1, O2]) SetValue(v T) {
	r.end()
	r.r.SetValue(v)
}

func (r *retryReceiver[T, O1, O2]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *retryReceiver[T, O1, O2]) Env() Env { return r.r.Env() }

// retryWait is the receiver of a wait.
type retryWait[T, U, O1, O2 any] RetryOp[T, O1, O2]

func (r *retryWait[T, U, O1, O2]) SetValue(U) {
	op := (*RetryOp[T, O1, O2])(r)
	op.waiting = false
	op.next()
}

func (r *retryWait[T, U, O1, O2]) SetError(err error) {
	r.end()
	r.r.SetError(err)
}

func (r *retryWait[T, U, O1, O2]) SetStopped() {
	r.end()
	r.r.SetStopped()
}

func (r *retryWait[T, U, O1, O2]) Env() Env { return r.r.Env() }
