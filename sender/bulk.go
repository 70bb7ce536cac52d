package sender

// Bulk calls f(0, v) to f(n-1, v), in this order, when s completes with v, and then completes with v.
// The rest it passes on. A panic of f ends it. It runs f, and completes, where s does; for several
// threads, WhenAllSlice takes senders that start on them. A stop request is s's affair; nothing is
// allocated.
//
// Source: P2300R10 [exec.bulk], the default algorithm.
func Bulk[T, O any, P Operation[O], S Sender[T, O]](s S, n int, f func(i int, v T)) BulkSender[T, O, P, S] {
	return BulkSender[T, O, P, S]{s, n, f}
}

// BulkSender is what Bulk returns.
type BulkSender[T, O any, P Operation[O], S Sender[T, O]] struct {
	s S
	n int
	f func(int, T)
}

// BulkOp is the operation state of Bulk.
type BulkOp[T, O any, P Operation[O]] struct {
	child O
	n     int
	f     func(int, T)
	r     Receiver[T]
}

// Connect implements Sender.
func (s BulkSender[T, O, P, S]) Connect(op *BulkOp[T, O, P], r Receiver[T]) {
	op.n, op.f, op.r = s.n, s.f, r
	s.s.Connect(&op.child, (*bulkReceiver[T, O, P])(op))
}

// Completion implements Completer.
func (s *BulkSender[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }

// Start implements Operation.
func (op *BulkOp[T, O, P]) Start() { P(&op.child).Start() }

type bulkReceiver[T, O any, P Operation[O]] BulkOp[T, O, P]

func (op *bulkReceiver[T, O, P]) SetValue(v T) {
	if err := protect(func() { op.each(v) }); err != nil {
		op.r.SetError(err)
		return
	}
	op.r.SetValue(v)
}

func (op *bulkReceiver[T, O, P]) each(v T) {
	for i := range op.n {
		op.f(i, v)
	}
}

func (op *bulkReceiver[T, O, P]) SetError(err error) { op.r.SetError(err) }
func (op *bulkReceiver[T, O, P]) SetStopped()        { op.r.SetStopped() }
func (op *bulkReceiver[T, O, P]) Env() Env           { return op.r.Env() }
