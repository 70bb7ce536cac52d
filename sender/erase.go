package sender

// Erase hides the type of s, for the boundaries of an API and for trees whose shape is only known at run time.
//
// Completion: as and where s completes.
//
// Allocation: Erase allocates a copy of s. Connect allocates the operation state of s, unless the [AnyOp] has been
// connected to a sender of the same type before.
//
// Source: stdexec's any_sender_of.
func Erase[T, O any, S Sender[T, O]](s S) Any[T] {
	return Any[T]{&erased[T, O, S]{s}}
}

// Any is a sender of which only the type of the value is known. The zero Any must not be connected.
type Any[T any] struct{ s connector[T] }

// AnyOp is the operation state of any sender of T, of one at a time: it must not be connected again before the
// operation has completed. It refers to the real operation state, so it must not be copied, not even when it is idle.
// A struct that runs what a function returns holds an AnyOp:
//
//	type client struct{ op sender.AnyOp[string] }
//
//	sender.Connect(&c.op, greet("x"), (*greeted)(c)).Start() // greet returns a sender.Any[string]
type AnyOp[T any] struct{ op any }

// Connect connects s in an operation state whose type does not name that of s, so that a struct can hold it.
//
// Allocation: the operation state of s, unless *op has been connected to a sender of the same type before.
func Connect[T, O any, S Sender[T, O]](op *AnyOp[T], s S, r Receiver[T]) Operation {
	child, ok := op.op.(*O)
	if !ok {
		child = new(O)
		op.op = child
	}
	return s.Connect(child, r)
}

// connector is an erased sender.
type connector[T any] interface {
	CompletionDescriber
	connect(op *AnyOp[T], r Receiver[T]) Operation
}

// Connect implements [Sender].
func (s Any[T]) Connect(op *AnyOp[T], r Receiver[T]) Operation {
	if s.s == nil {
		panic("sender: Connect of the zero Any: make one with Erase")
	}
	return s.s.connect(op, r)
}

// CompletionBehavior implements [CompletionDescriber].
func (s *Any[T]) CompletionBehavior() CompletionBehavior {
	if s.s == nil {
		return Anywhere
	}
	return s.s.CompletionBehavior()
}

type erased[T, O any, S Sender[T, O]] struct{ s S }

func (s *erased[T, O, S]) connect(op *AnyOp[T], r Receiver[T]) Operation { return Connect(op, s.s, r) }

func (s *erased[T, O, S]) CompletionBehavior() CompletionBehavior { return CompletionBehaviorOf(&s.s) }
