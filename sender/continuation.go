package sender

// continuation connects the sender that a user's function makes of a v. It hides the type of that sender,
// so that the types of operation states do not name it, and is no larger than the function: to make one
// allocates nothing.
type continuation[V, T, O any] interface {
	connect(v V, op *O, r Receiver[T]) Operation
}

// function is a function of v as a continuation.
type function[V, T, O any, S Sender[T, O]] func(V) S

func (f function[V, T, O, S]) connect(v V, op *O, r Receiver[T]) Operation {
	return f(v).Connect(op, r)
}

// thunk is a function of nothing as a continuation.
type thunk[T, O any, S Sender[T, O]] func() S

func (f thunk[T, O, S]) connect(_ struct{}, op *O, r Receiver[T]) Operation {
	return f().Connect(op, r)
}
