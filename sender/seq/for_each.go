package seq

import "github.com/reactord/reactord/sender"

// ForEach returns a sender that calls f for every item of s. f owns the item that it is called with, also if it
// returns an error.
//
// Completion: where s completes, as s does. If f returns an error or panics, s is requested to stop and joined, what
// it still delivers is dropped, and ForEach completes with that error; stopped if the error is [sender.ErrStopped].
//
// Cancellation: by s. If stop was requested before Start, s is not started.
//
// Source: libunifex's for_each, stdexec's exec::ignore_all_values over a then_each.
func ForEach[T, O any, S Sequence[T, O]](
	s S, f func(T) error, drop func(T),
) ForEachSender[T, O, S] {
	return ForEachSender[T, O, S]{s, f, drop}
}

// ForEachSender is the sender that [ForEach] returns.
type ForEachSender[T, O any, S Sequence[T, O]] struct {
	s    S
	f    func(T) error
	drop func(T)
}

// ForEachOp is the operation state of [ForEachSender].
type ForEachOp[T, O any] struct {
	oneSource
	child  O
	start  sender.Operation
	credit credit
	f      func(T) error
	drop   func(T)
	r      sender.Receiver[struct{}]
}

// Connect implements [sender.Sender].
func (s ForEachSender[T, O, S]) Connect(op *ForEachOp[T, O], r sender.Receiver[struct{}]) sender.Operation {
	op.f, op.drop, op.r = s.f, s.drop, r
	op.start = op.credit.connect(s.s.Connect(&op.child, (*forEach[T, O])(op)))
	return op
}

// CompletionBehavior implements [sender.CompletionDescriber].
func (s *ForEachSender[T, O, S]) CompletionBehavior() sender.CompletionBehavior {
	return sender.CompletionBehaviorOf(&s.s)
}

// Start implements [sender.Operation].
func (op *ForEachOp[T, O]) Start() {
	if op.begin((*forEach[T, O])(op), op.r.Env()) {
		op.start.Start()
	}
}

// forEach is the receiver of the source.
type forEach[T, O any] ForEachOp[T, O]

func (op *forEach[T, O]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	switch err, ok := call(op.f, item, op.fail); {
	case !ok:
	case err != nil:
		op.finish(completionOf(err))
	default:
		op.credit.consumed()
	}
}

func (op *forEach[T, O]) OnJoined() { op.result.Deliver(op.r) }
