package sender

// Bulk returns a sender that calls f(0, v) to f(n-1, v), in this order, when s completes with v, and then completes
// with v. It calls f on one thread; for several threads use [WhenAllSlice] of senders that start on them.
//
// Completion: where s completes. Errors and stopped are forwarded unchanged. A panic of f ends the calls and
// completes it with a [*PanicError].
//
// Cancellation: by s.
//
// Source: P2300R10 [exec.bulk], the default algorithm.
func Bulk[T, O any, S Sender[T, O]](s S, n int, f func(i int, v T)) BulkSender[T, O, S] {
	return BulkSender[T, O, S]{s, n, f}
}

// BulkSender is the sender that [Bulk] returns.
type BulkSender[T, O any, S Sender[T, O]] struct {
	s S
	n int
	f func(int, T)
}

// BulkOp is the operation state of [BulkSender].
type BulkOp[T, O any] struct {
	child O
	n     int
	f     func(int, T)
	r     Receiver[T]
}

// Connect implements [Sender].
func (s BulkSender[T, O, S]) Connect(op *BulkOp[T, O], r Receiver[T]) Operation {
	op.n, op.f, op.r = s.n, s.f, r
	return s.s.Connect(&op.child, (*bulkReceiver[T, O])(op))
}

// CompletionBehavior implements [CompletionDescriber].
func (s *BulkSender[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&s.s)
}

type bulkReceiver[T, O any] BulkOp[T, O]

func (op *bulkReceiver[T, O]) SetValue(v T) {
	if protect(func() { op.each(v) }, op.r.SetError) {
		op.r.SetValue(v)
	}
}

func (op *bulkReceiver[T, O]) each(v T) {
	for i := range op.n {
		op.f(i, v)
	}
}

func (op *bulkReceiver[T, O]) SetError(err error) { op.r.SetError(err) }
func (op *bulkReceiver[T, O]) SetStopped()        { op.r.SetStopped() }
func (op *bulkReceiver[T, O]) Env() Env           { return op.r.Env() }
