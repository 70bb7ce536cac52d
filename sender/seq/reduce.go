package seq

import "github.com/reactord/reactord/sender"

// Reduce is a sender of f(…f(f(first, item), item)…, item) over the items of s, which it completes with at
// the end of s; errors and stopped are passed on, and what was made of the items by then is forgotten. If f
// panics, s is stopped and joined, what it still delivers is dropped, and Reduce completes with the
// *sender.PanicError.
//
// It completes where s does. A stop request goes to s. If stop was requested before Start, s is not
// started.
//
// Source: libunifex's reduce_stream.
func Reduce[T, A, O any, P sender.Operation[O], S Sequence[T, O]](
	s S, first A, f func(A, T) A, drop func(T),
) ReduceSender[T, A, O, P, S] {
	return ReduceSender[T, A, O, P, S]{s, first, f, drop}
}

// ReduceSender is what Reduce returns.
type ReduceSender[T, A, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s     S
	first A
	f     func(A, T) A
	drop  func(T)
}

// ReduceOp is the operation state of Reduce.
type ReduceOp[T, A, O any, P sender.Operation[O]] struct {
	tap
	child O
	first A
	soFar A
	f     func(A, T) A
	drop  func(T)
	r     sender.Receiver[A]
}

// Connect implements sender.Sender.
func (s ReduceSender[T, A, O, P, S]) Connect(op *ReduceOp[T, A, O, P], r sender.Receiver[A]) {
	op.first, op.f, op.drop, op.r = s.first, s.f, s.drop, r
	s.s.Connect(&op.child, (*reduce[T, A, O, P])(op))
}

// Completion implements sender.Completer.
func (s *ReduceSender[T, A, O, P, S]) Completion() sender.Completion {
	return sender.CompletionOf(&s.s)
}

// Start implements sender.Operation.
func (op *ReduceOp[T, A, O, P]) Start() {
	op.soFar = op.first
	if op.begin((*reduce[T, A, O, P])(op), op.r.Env()) {
		P(&op.child).Start()
	}
}

// reduce is the operation as the source's receiver.
type reduce[T, A, O any, P sender.Operation[O]] ReduceOp[T, A, O, P]

func (op *reduce[T, A, O, P]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	if err := op.add(item); err != nil {
		op.end(outcome{failed, err})
	}
}

func (op *reduce[T, A, O, P]) add(item T) (err error) {
	returned := false
	defer catch(&returned, &err)
	op.soFar = op.f(op.soFar, item)
	returned = true
	return nil
}

func (op *reduce[T, A, O, P]) Finish() {
	v := op.soFar
	var none A
	op.soFar = none
	deliver(op.outcome, op.r, v)
}

// Collect is a sender of all items of s, in order, which it completes with at the end of s; with errors and
// stopped, which are passed on, the items are dropped. It allocates as append does.
//
// It completes where s does. A stop request goes to s.
func Collect[T, O any, P sender.Operation[O], S Sequence[T, O]](s S, drop func(T)) CollectSender[T, O, P, S] {
	return CollectSender[T, O, P, S]{s, drop}
}

// CollectSender is what Collect returns.
type CollectSender[T, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s    S
	drop func(T)
}

// CollectOp is the operation state of Collect.
type CollectOp[T, O any, P sender.Operation[O]] struct {
	child O
	items []T
	drop  func(T)
	r     sender.Receiver[[]T]
}

// Connect implements sender.Sender.
func (s CollectSender[T, O, P, S]) Connect(op *CollectOp[T, O, P], r sender.Receiver[[]T]) {
	op.items, op.drop, op.r = nil, s.drop, r
	s.s.Connect(&op.child, (*collect[T, O, P])(op))
}

// Completion implements sender.Completer.
func (s *CollectSender[T, O, P, S]) Completion() sender.Completion { return sender.CompletionOf(&s.s) }

// Start implements sender.Operation.
func (op *CollectOp[T, O, P]) Start() { P(&op.child).Start() }

// collect is the operation as the source's receiver.
type collect[T, O any, P sender.Operation[O]] CollectOp[T, O, P]

func (op *collect[T, O, P]) SetNext(item T) { op.items = append(op.items, item) }

// take is the items, which op forgets.
func (op *collect[T, O, P]) take() []T {
	items := op.items
	op.items = nil
	return items
}

func (op *collect[T, O, P]) SetValue(struct{})  { op.r.SetValue(op.take()) }
func (op *collect[T, O, P]) SetError(err error) { op.dropAll(); op.r.SetError(err) }
func (op *collect[T, O, P]) SetStopped()        { op.dropAll(); op.r.SetStopped() }
func (op *collect[T, O, P]) Env() sender.Env    { return op.r.Env() }

func (op *collect[T, O, P]) dropAll() {
	for _, item := range op.take() {
		dispose(op.drop, item)
	}
}
