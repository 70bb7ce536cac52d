package sender

// Some algorithms connect a sender while they run. The interfaces of this file hide the type of that sender: an
// operation state that named both the sender and its operation state would double the length of its type's name
// with each level.

// storedSender is a sender that an operation state stores and connects later.
type storedSender[T, O any] interface {
	CompletionDescriber
	connect(op *O, r Receiver[T]) Operation
}

// store copies s into the allocation that previous refers to. It allocates only if previous is nil or of another
// sender type: once for each operation state.
func store[T, O any, S Sender[T, O]](previous storedSender[T, O], s S) storedSender[T, O] {
	x, ok := previous.(*storedSenderOf[T, O, S])
	if !ok {
		x = new(storedSenderOf[T, O, S])
	}
	x.s = s
	return x
}

type storedSenderOf[T, O any, S Sender[T, O]] struct{ s S }

func (x *storedSenderOf[T, O, S]) connect(op *O, r Receiver[T]) Operation { return x.s.Connect(op, r) }
func (x *storedSenderOf[T, O, S]) CompletionBehavior() CompletionBehavior {
	return CompletionBehaviorOf(&x.s)
}

// storedSlice is a slice of senders that an operation state stores and connects later.
type storedSlice[T, O any] interface {
	connect(i int, op *O, r Receiver[T]) Operation
}

// storeSlice does what store does, for a slice.
func storeSlice[T, O any, S Sender[T, O]](previous storedSlice[T, O], s []S) storedSlice[T, O] {
	x, ok := previous.(*storedSliceOf[T, O, S])
	if !ok {
		x = new(storedSliceOf[T, O, S])
	}
	x.s = s
	return x
}

type storedSliceOf[T, O any, S Sender[T, O]] struct{ s []S }

func (x *storedSliceOf[T, O, S]) connect(i int, op *O, r Receiver[T]) Operation {
	return x.s[i].Connect(op, r)
}

// senderFactory connects the sender that a user's function returns for an argument of type A. A function value
// converts to it without an allocation.
type senderFactory[A, T, O any] interface {
	connect(a A, op *O, r Receiver[T]) Operation
}

// factoryFunc is a function of one argument as a senderFactory.
type factoryFunc[A, T, O any, S Sender[T, O]] func(A) S

func (f factoryFunc[A, T, O, S]) connect(a A, op *O, r Receiver[T]) Operation {
	return f(a).Connect(op, r)
}

// factoryFunc0 is a function without arguments as a senderFactory.
type factoryFunc0[T, O any, S Sender[T, O]] func() S

func (f factoryFunc0[T, O, S]) connect(_ struct{}, op *O, r Receiver[T]) Operation {
	return f().Connect(op, r)
}
