package sender

// Then completes with f(v) when s completes with v, and passes on the rest. It completes where s does.
// A stop request is s's affair; nothing is allocated.
//
// Source: P2300R10 [exec.then].
func Then[A, B, O any, P Operation[O], S Sender[A, O]](s S, f func(A) B) ThenSender[A, B, O, P, S] {
	return ThenSender[A, B, O, P, S]{s, f}
}

// ThenSender is what Then returns.
type ThenSender[A, B, O any, P Operation[O], S Sender[A, O]] struct {
	s S
	f func(A) B
}

// ThenOp is the operation state of Then.
type ThenOp[A, B, O any, P Operation[O]] struct {
	child O
	f     func(A) B
	r     Receiver[B]
}

// Connect implements Sender.
func (s ThenSender[A, B, O, P, S]) Connect(op *ThenOp[A, B, O, P], r Receiver[B]) {
	op.f, op.r = s.f, r
	s.s.Connect(&op.child, (*thenReceiver[A, B, O, P])(op))
}

// Completion implements Completer.
func (s *ThenSender[A, B, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *ThenOp[A, B, O, P]) Start() { P(&op.child).Start() }

type thenReceiver[A, B, O any, P Operation[O]] ThenOp[A, B, O, P]

func (op *thenReceiver[A, B, O, P]) SetValue(v A) {
	// This is call(op.f, v), written out because that costs a third of a stage. Once f has returned
	// the deferred function lets everything pass, and op is not looked at any more.
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			op.r.SetError(NewPanicError(v))
		}
	}()
	b := op.f(v)
	returned = true
	op.r.SetValue(b)
}

func (op *thenReceiver[A, B, O, P]) SetError(err error) { op.r.SetError(err) }
func (op *thenReceiver[A, B, O, P]) SetStopped()        { op.r.SetStopped() }
func (op *thenReceiver[A, B, O, P]) Env() Env           { return op.r.Env() }
