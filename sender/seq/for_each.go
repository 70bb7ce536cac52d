package seq

import "github.com/reactord/reactord/sender"

// ForEach is a sender that calls f for every item of s and completes as s does. If f returns an error, or
// panics, s is stopped and joined, what it still delivers is dropped, and ForEach completes with that
// error, or stopped if it is sender.ErrStopped. The item that f was called for is f's, whatever it returns.
//
// It completes where s does. A stop request goes to s. If stop was requested before Start, s is not
// started.
//
// Source: libunifex's for_each, stdexec's exec::ignore_all_values over a then_each.
func ForEach[T, O any, P sender.Operation[O], S Sequence[T, O]](
	s S, f func(T) error, drop func(T),
) ForEachSender[T, O, P, S] {
	return ForEachSender[T, O, P, S]{s, f, drop}
}

// ForEachSender is what ForEach returns.
type ForEachSender[T, O any, P sender.Operation[O], S Sequence[T, O]] struct {
	s    S
	f    func(T) error
	drop func(T)
}

// ForEachOp is the operation state of ForEach.
type ForEachOp[T, O any, P sender.Operation[O]] struct {
	tap
	child O
	f     func(T) error
	drop  func(T)
	r     sender.Receiver[struct{}]
}

// Connect implements sender.Sender.
func (s ForEachSender[T, O, P, S]) Connect(op *ForEachOp[T, O, P], r sender.Receiver[struct{}]) {
	op.f, op.drop, op.r = s.f, s.drop, r
	s.s.Connect(&op.child, (*forEach[T, O, P])(op))
}

// Completion implements sender.Completer.
func (s *ForEachSender[T, O, P, S]) Completion() sender.Completion { return sender.CompletionOf(&s.s) }

// Start implements sender.Operation.
func (op *ForEachOp[T, O, P]) Start() {
	if op.begin((*forEach[T, O, P])(op), op.r.Env()) {
		P(&op.child).Start()
	}
}

// forEach is the operation as the source's receiver.
type forEach[T, O any, P sender.Operation[O]] ForEachOp[T, O, P]

func (op *forEach[T, O, P]) SetNext(item T) {
	if op.enough {
		dispose(op.drop, item)
		return
	}
	failure, err := call(op.f, item)
	if err == nil {
		err = failure
	}
	if err != nil {
		op.end(outcomeOf(err))
	}
}

func (op *forEach[T, O, P]) Finish() { deliver(op.outcome, op.r, struct{}{}) }
