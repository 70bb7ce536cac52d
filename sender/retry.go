package sender

import (
	"github.com/reactord/reactord/sender/internal/aftergoexit"
	"github.com/reactord/reactord/sender/stop"
)

// Retry returns a sender that connects and starts s again whenever s fails and again returns true. failed is the
// number of attempts that have failed, from 1, and err the latest error. The stack does not grow.
//
// Completion: as and where the last attempt completes.
//
// The next attempt begins where the previous one failed. If that failed inside its Start, it begins where that Start
// was called.
//
// Cancellation: by s. A stop request between two attempts completes it stopped.
//
// Allocation: Connect allocates a copy of s, once for each operation state.
//
// Source: stdexec's example retry, libunifex's retry_when.
func Retry[T, O any, S Sender[T, O]](s S, again func(failed int, err error) bool) RetrySender[
	T, struct{}, O, JustOp[struct{}], S, JustSender[struct{}],
] {
	return RetryAfter[T, struct{}, O, JustOp[struct{}]](
		s, func(failed int, err error) (JustSender[struct{}], bool) { return Just(struct{}{}), again(failed, err) })
}

// RetryAfter retries s as [Retry] does, with a backoff: between two attempts it waits for the sender that backOff
// returns, usually a timer. failed counts the failed attempts from 1, so again = failed < 3 makes three attempts. If
// backOff returns false, its sender is not used.
//
// Completion: as Retry. If the wait fails, its error is delivered; if the wait is stopped, it completes stopped. The
// value of the wait is dropped.
//
// The next attempt begins where the wait completes.
func RetryAfter[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]](
	s S1, backOff func(failed int, err error) (wait S2, again bool),
) RetrySender[T, U, O1, O2, S1, S2] {
	return RetrySender[T, U, O1, O2, S1, S2]{s, backOff}
}

// RetrySender is the sender that [Retry] and [RetryAfter] return.
type RetrySender[T, U, O1, O2 any, S1 Sender[T, O1], S2 Sender[U, O2]] struct {
	s       S1
	backOff func(int, error) (S2, bool)
}

// RetryOp is the operation state of [RetrySender].
type RetryOp[T, O1, O2 any] struct {
	trampolined
	child     O1
	wait      O2
	startWait Operation
	s         storedSender[T, O1]
	backOff   backOffFactory[T, O1, O2]
	r         Receiver[T]
	token     stop.Token
	failed    int  // attempts that have failed
	waiting   bool // the wait is next, and is connected; otherwise an attempt
}

// Connect implements [Sender].
func (s RetrySender[T, U, O1, O2, S1, S2]) Connect(op *RetryOp[T, O1, O2], r Receiver[T]) Operation {
	op.s, op.backOff, op.r = store(op.s, s.s), backOffFunc[T, U, O1, O2, S2](s.backOff), r
	return op
}

// CompletionBehavior implements [CompletionDescriber].
func (s *RetrySender[T, U, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionBehaviorOfType[S2]())
}

// Start implements [Operation].
func (op *RetryOp[T, O1, O2]) Start() {
	op.token = op.r.Env().StopToken()
	op.failed, op.waiting = 0, false
	op.begin()
	op.run()
}

// run starts attempts and waits alternately, until one does not complete inside Start, or is the last.
func (op *RetryOp[T, O1, O2]) run() {
	t, child := op.trampoline, (*retryReceiver[T, O1, O2])(op)
	// A user's function may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() {
		if t.nextChild() {
			op.run()
		}
	})
	for {
		t.beginChild()
		var start Operation
		if op.token.StopRequested() {
			child.SetStopped()
		} else if op.waiting {
			op.startWait.Start()
		} else if protect(func() { start = op.s.connect(&op.child, child) }, op.fail) {
			start.Start()
		}
		// The operation may have completed, here or on another thread. From here on only t may be used.
		if !t.nextChild() {
			returned = true
			return
		}
	}
}

// next starts the next attempt or wait, or leaves that to the frame that started the one that has completed.
func (op *RetryOp[T, O1, O2]) next() {
	if !op.trampoline.completeChild() {
		op.run()
	}
}

// fail completes with the error err.
func (op *RetryOp[T, O1, O2]) fail(err error) {
	op.finish()
	op.r.SetError(err)
}

// backOffFactory connects the sender that the user's function returns for a wait. It hides the types of the sender and
// of its value, as a senderFactory does.
type backOffFactory[T, O1, O2 any] interface {
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

// retryReceiver is the receiver of an attempt.
type retryReceiver[T, O1, O2 any] RetryOp[T, O1, O2]

func (r *retryReceiver[T, O1, O2]) SetError(err error) {
	op := (*RetryOp[T, O1, O2])(r)
	op.failed++
	again := false
	switch {
	case !protect(func() { op.startWait, again = op.backOff.connect(op, err) }, op.fail):
	case again:
		op.waiting = true
		op.next()
	default:
		op.fail(err)
	}
}

func (r *retryReceiver[T, O1, O2]) SetValue(v T) {
	r.finish()
	r.r.SetValue(v)
}

func (r *retryReceiver[T, O1, O2]) SetStopped() {
	r.finish()
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
	r.finish()
	r.r.SetError(err)
}

func (r *retryWait[T, U, O1, O2]) SetStopped() {
	r.finish()
	r.r.SetStopped()
}

func (r *retryWait[T, U, O1, O2]) Env() Env { return r.r.Env() }
