package sender

// Then returns a sender that calls f with the value of s and completes with what f returns.
//
// Completion: where s completes. Errors and stopped are forwarded unchanged. A panic of f completes it with a
// [*PanicError].
//
// Cancellation: by s.
//
// Source: P2300R10 [exec.then].
func Then[A, B, O any, S Sender[A, O]](s S, f func(A) B) ThenSender[A, B, O, S] {
	return ThenSender[A, B, O, S]{s, f}
}

// ThenSender is the sender that [Then] returns.
type ThenSender[A, B, O any, S Sender[A, O]] struct {
	s S
	f func(A) B
}

// ThenOp is the operation state of [ThenSender].
type ThenOp[A, B, O any] struct {
	child O
	f     func(A) B
	r     Receiver[B]
}

// Connect implements [Sender].
func (s ThenSender[A, B, O, S]) Connect(op *ThenOp[A, B, O], r Receiver[B]) Operation {
	op.f, op.r = s.f, r
	return s.s.Connect(&op.child, (*thenReceiver[A, B, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *ThenSender[A, B, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type thenReceiver[A, B, O any] ThenOp[A, B, O]

func (op *thenReceiver[A, B, O]) SetValue(v A) {
	// This is protect, written out because that costs a third of a stage. Once f has returned the deferred function
	// lets everything pass, and op is no longer looked at.
	returned := false
	defer func() {
		if !returned {
			op.r.SetError(failure(recover()))
		}
	}()
	b := op.f(v)
	returned = true
	op.r.SetValue(b)
}

func (op *thenReceiver[A, B, O]) SetError(err error) { op.r.SetError(err) }
func (op *thenReceiver[A, B, O]) SetStopped()        { op.r.SetStopped() }
func (op *thenReceiver[A, B, O]) Env() Env           { return op.r.Env() }
