package sender

// Let returns a sender that calls f with the value of s, and then connects and starts the sender that f returns. Its
// operation state holds both operations.
//
// Completion: as and where f's sender completes; where s completes if s has no value. Errors and stopped of s are
// forwarded unchanged. A panic of f, or of the Connect of f's sender, completes it with a [*PanicError].
//
// Cancellation: by the operation that is running, s or f's sender.
//
// Source: P2300R10 [exec.let] (let_value).
func Let[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]](
	s S1, f func(A) S2,
) LetSender[A, B, O1, O2, S1, S2] {
	return LetSender[A, B, O1, O2, S1, S2]{s, f}
}

// LetSender is the sender that [Let] returns.
type LetSender[A, B, O1, O2 any, S1 Sender[A, O1], S2 Sender[B, O2]] struct {
	s S1
	f func(A) S2
}

// LetOp is the operation state of [LetSender].
type LetOp[A, B, O1, O2 any] struct {
	first  O1
	second O2
	f      senderFactory[A, B, O2]
	r      Receiver[B]
}

// Connect implements [Sender].
func (s LetSender[A, B, O1, O2, S1, S2]) Connect(op *LetOp[A, B, O1, O2], r Receiver[B]) Operation {
	op.f, op.r = factoryFunc[A, B, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letReceiver[A, B, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *LetSender[A, B, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionBehaviorOfType[S2]())
}

type letReceiver[A, B, O1, O2 any] LetOp[A, B, O1, O2]

func (op *letReceiver[A, B, O1, O2]) SetValue(v A) {
	// The second operation needs nothing of this one, so it completes the receiver itself.
	var second Operation
	if protect(func() { second = op.f.connect(v, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letReceiver[A, B, O1, O2]) SetError(err error) { op.r.SetError(err) }
func (op *letReceiver[A, B, O1, O2]) SetStopped()        { op.r.SetStopped() }
func (op *letReceiver[A, B, O1, O2]) Env() Env           { return op.r.Env() }

// LetError returns a sender that calls f with the error of s, and then connects and starts the sender that f returns.
// Its operation state holds both operations.
//
// Completion: as and where f's sender completes; where s completes if s does not fail. A value and stopped of s are
// forwarded unchanged. A panic of f, or of the Connect of f's sender, completes it with a [*PanicError].
//
// Cancellation: by the operation that is running, s or f's sender.
//
// Source: P2300R10 [exec.let] (let_error).
func LetError[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func(error) S2,
) LetErrorSender[T, O1, O2, S1, S2] {
	return LetErrorSender[T, O1, O2, S1, S2]{s, f}
}

// LetErrorSender is the sender that [LetError] returns.
type LetErrorSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func(error) S2
}

// LetErrorOp is the operation state of [LetErrorSender].
type LetErrorOp[T, O1, O2 any] struct {
	first  O1
	second O2
	f      senderFactory[error, T, O2]
	r      Receiver[T]
}

// Connect implements [Sender].
func (s LetErrorSender[T, O1, O2, S1, S2]) Connect(op *LetErrorOp[T, O1, O2], r Receiver[T]) Operation {
	op.f, op.r = factoryFunc[error, T, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letErrorReceiver[T, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *LetErrorSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionBehaviorOfType[S2]())
}

type letErrorReceiver[T, O1, O2 any] LetErrorOp[T, O1, O2]

func (op *letErrorReceiver[T, O1, O2]) SetError(err error) {
	var second Operation
	if protect(func() { second = op.f.connect(err, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letErrorReceiver[T, O1, O2]) SetValue(v T) { op.r.SetValue(v) }
func (op *letErrorReceiver[T, O1, O2]) SetStopped()  { op.r.SetStopped() }
func (op *letErrorReceiver[T, O1, O2]) Env() Env     { return op.r.Env() }

// LetStopped returns a sender that calls f when s completes stopped, and then connects and starts the sender that f
// returns. Its operation state holds both operations.
//
// Completion: as and where f's sender completes; where s completes if s is not stopped. A value and an error of s are
// forwarded unchanged. A panic of f, or of the Connect of f's sender, completes it with a [*PanicError].
//
// Cancellation: by the operation that is running. If a stop request stopped s, f's sender sees this request too:
// [Unstoppable] shields it.
//
// Source: P2300R10 [exec.let] (let_stopped).
func LetStopped[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]](
	s S1, f func() S2,
) LetStoppedSender[T, O1, O2, S1, S2] {
	return LetStoppedSender[T, O1, O2, S1, S2]{s, f}
}

// LetStoppedSender is the sender that [LetStopped] returns.
type LetStoppedSender[T, O1, O2 any, S1 Sender[T, O1], S2 Sender[T, O2]] struct {
	s S1
	f func() S2
}

// LetStoppedOp is the operation state of [LetStoppedSender].
type LetStoppedOp[T, O1, O2 any] struct {
	first  O1
	second O2
	f      senderFactory[struct{}, T, O2]
	r      Receiver[T]
}

// Connect implements [Sender].
func (s LetStoppedSender[T, O1, O2, S1, S2]) Connect(op *LetStoppedOp[T, O1, O2], r Receiver[T]) Operation {
	op.f, op.r = factoryFunc0[T, O2, S2](s.f), r
	return s.s.Connect(&op.first, (*letStoppedReceiver[T, O1, O2])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *LetStoppedSender[T, O1, O2, S1, S2]) CompletionBehavior() CompletionBehavior {
	return min(CompletionBehaviorOf(&s.s), completionBehaviorOfType[S2]())
}

type letStoppedReceiver[T, O1, O2 any] LetStoppedOp[T, O1, O2]

func (op *letStoppedReceiver[T, O1, O2]) SetStopped() {
	var second Operation
	if protect(func() { second = op.f.connect(struct{}{}, &op.second, op.r) }, op.r.SetError) {
		second.Start()
	}
}

func (op *letStoppedReceiver[T, O1, O2]) SetValue(v T)       { op.r.SetValue(v) }
func (op *letStoppedReceiver[T, O1, O2]) SetError(err error) { op.r.SetError(err) }
func (op *letStoppedReceiver[T, O1, O2]) Env() Env           { return op.r.Env() }
