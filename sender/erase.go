package sender

// Erase hides the type of s, for the boundaries of an API and for trees whose shape is not known
// before they run. It completes as and where s does.
//
// Erase allocates a copy of s. Connect allocates the operation state of s, unless *op has been
// connected to an erased sender of the same type before.
//
// Source: stdexec's any_sender_of.
func Erase[T, O any, P Operation[O], S Sender[T, O]](s S) Any[T] {
	return Any[T]{&erased[T, O, P, S]{s}}
}

// Any is a sender of which the type of the value is known only. The zero Any must not be connected.
type Any[T any] struct{ s connector[T] }

// AnyOp is the operation state of Any. Since it refers to another one it must not be copied, not even
// when it is idle.
type AnyOp[T any] struct{ op starter }

// connector is an erased sender.
type connector[T any] interface {
	Completer
	connect(op *AnyOp[T], r Receiver[T])
}

// starter is an erased operation.
type starter interface{ Start() }

// Connect implements Sender.
func (s Any[T]) Connect(op *AnyOp[T], r Receiver[T]) { s.s.connect(op, r) }

// Completion implements Completer.
func (s *Any[T]) Completion() Completion {
	if s.s == nil {
		return Anywhere
	}
	return s.s.Completion()
}

// Start implements Operation.
func (op *AnyOp[T]) Start() { op.op.Start() }

type erased[T, O any, P Operation[O], S Sender[T, O]] struct{ s S }

func (s *erased[T, O, P, S]) connect(op *AnyOp[T], r Receiver[T]) {
	child, ok := op.op.(P)
	if !ok {
		child = P(new(O))
		op.op = child
	}
	s.s.Connect(child, r)
}

func (s *erased[T, O, P, S]) Completion() Completion { return CompletionOf(&s.s) }
