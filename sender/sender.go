package sender

// Receiver is a continuation. After an operation has been started, exactly one of SetValue, SetError
// and SetStopped is called, once; nothing of the operation touches the receiver after that.
//
// It is called where the operation completes (each sender says where). When it is called, the
// operation state is idle again: the receiver may connect and start it once more from inside the call.
//
// Source: P0443's receiver contract as D2006R1 §2 and P2300 [exec.recv] have it.
type Receiver[T any] interface {
	// SetValue says that the operation succeeded.
	SetValue(v T)
	// SetError says that it failed. err is not nil.
	SetError(err error)
	// SetStopped says that it ended without a result because somebody asked it to stop. That is not
	// an error.
	SetStopped()
	// Env is asked from Connect until the completion. It must not block.
	Env() Env
}

// Sender describes work that has not begun. O is the type of its operation state, whose storage the
// caller owns.
//
// Connect initialises *op so that Start on it does the work and completes r. It has no effect that
// can be seen from outside. *op must not be in flight; it may be the zero O, or one that has
// completed, also one of another sender of the same type. From Connect until the completion *op must
// stay where it is, and be on the heap if its sender says so.
//
// Source: D2006R1 §3 (connect and start as basis operations).
type Sender[T, O any] interface {
	Connect(op *O, r Receiver[T])
}

// Operation is what a pointer to an operation state offers: Start begins the work. It cannot fail;
// whatever goes wrong is a completion. It is called at most once per Connect, unless the sender says
// that its operation may be started again without connecting it anew.
type Operation[O any] interface {
	*O
	Start()
}
