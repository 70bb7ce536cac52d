package seq

import "github.com/reactord/reactord/sender"

// Reduce returns a sender of f(…f(f(first, item), item)…, item) over the items of s.
//
// Completion: where s completes, with the result. Errors and stopped are forwarded unchanged, and the partial result
// is dropped. If f panics, s is requested to stop and joined, what it still delivers is dropped, and Reduce completes
// with a [*sender.PanicError].
//
// Cancellation: by s. If stop was requested before Start, s is not started.
//
// Source: libunifex's reduce_stream.
func Reduce[T, A, O any, S Sequence[T, O]](
	s S, first A, f func(A, T) A, drop func(T),
) ReduceSender[T, A, O, S] {
	return ReduceSender[T, A, O, S]{s, first, f, drop}
}

// ReduceSender is the sender that [Reduce] returns.
type ReduceSender[T, A, O any, S Sequence[T, O]] struct {
	s     S
	first A
	f     func(A, T) A
	drop  func(T)
}

// ReduceOp is the operation state of [ReduceSender].
type ReduceOp[T, A, O any] struct {
	oneSource
	child  O
	start  sender.Operation
	credit credit
	first  A
	soFar  A
	f      func(A, T) A
	drop   func(T)
	r      sender.Receiver[A]
}

// Connect implements [sender.Sender].
func (s ReduceSender[T, A, O, S]) Connect(op *ReduceOp[T, A, O], r sender.Receiver[A]) sender.Operation {
	op.first, op.f, op.drop, op.r = s.first, s.f, s.drop, r
	op.start = op.credit.connect(s.s.Connect(&op.child, (*reduce[T, A, O])(op)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *ReduceSender[T, A, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements [sender.Operation].
func (op *ReduceOp[T, A, O]) Start() {
	op.soFar = op.first
	if op.begin((*reduce[T, A, O])(op), op.r.Env()) {
		op.start.Start()
	}
}

// reduce is the receiver of the source.
type reduce[T, A, O any] ReduceOp[T, A, O]

func (op *reduce[T, A, O]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	if soFar, ok := call(func(item T) A { return op.f(op.soFar, item) }, item, op.fail); ok {
		op.soFar = soFar
		op.credit.consumed()
	}
}

func (op *reduce[T, A, O]) OnJoined() {
	v := op.soFar
	var zero A
	op.soFar = zero
	sender.Completion[A]{Channel: op.result.Channel, Value: v, Err: op.result.Err}.Deliver(op.r)
}

// Collect returns a sender of all items of s, in order.
//
// Completion: where s completes, with the items. Errors and stopped are forwarded unchanged, and drop is called for
// the items.
//
// Cancellation: by s.
//
// Allocation: as append does.
func Collect[T, O any, S Sequence[T, O]](s S, drop func(T)) CollectSender[T, O, S] {
	return CollectSender[T, O, S]{s, drop}
}

// CollectSender is the sender that [Collect] returns.
type CollectSender[T, O any, S Sequence[T, O]] struct {
	s    S
	drop func(T)
}

// CollectOp is the operation state of [CollectSender].
type CollectOp[T, O any] struct {
	child  O
	items  []T
	credit credit
	drop   func(T)
	r      sender.Receiver[[]T]
}

// Connect implements [sender.Sender].
func (s CollectSender[T, O, S]) Connect(op *CollectOp[T, O], r sender.Receiver[[]T]) sender.Operation {
	op.items, op.drop, op.r = nil, s.drop, r
	return op.credit.connect(s.s.Connect(&op.child, (*collect[T, O])(op)))
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *CollectSender[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// collect is the receiver of the source.
type collect[T, O any] CollectOp[T, O]

func (op *collect[T, O]) SetNext(item T) {
	op.items = append(op.items, item)
	op.credit.consumed()
}

// take returns the items, and forgets them.
func (op *collect[T, O]) take() []T {
	items := op.items
	op.items = nil
	return items
}

func (op *collect[T, O]) SetValue(struct{})  { op.r.SetValue(op.take()) }
func (op *collect[T, O]) SetError(err error) { op.dropAll(); op.r.SetError(err) }
func (op *collect[T, O]) SetStopped()        { op.dropAll(); op.r.SetStopped() }
func (op *collect[T, O]) Env() sender.Env    { return op.r.Env() }

func (op *collect[T, O]) dropAll() {
	for _, item := range op.take() {
		dispose(op.drop, item)
	}
}
