package sender

// Receiver is the continuation of an operation. After Start, exactly one of SetValue, SetError and SetStopped is
// called, once. Nothing of the operation touches the receiver after that.
//
// They are called where the operation completes; each sender documents where that is. The operation state is idle
// when they are called: the receiver may connect and start it again from inside the call.
//
// Source: P0443's receiver contract as in D2006R1 §2 and P2300R10 [exec.recv].
type Receiver[T any] interface {
	// SetValue reports that the operation succeeded with v.
	SetValue(v T)
	// SetError reports that it failed. err is not nil.
	SetError(err error)
	// SetStopped reports that the operation completed without a result because it was requested to stop. That is not an
	// error.
	SetStopped()
	// Env returns the environment. It is called between Connect and the completion, and must not block.
	Env() Env
}

// Sender describes work that has not begun. O is the type of its operation state, whose storage the caller owns.
//
// Connect prepares *op: Start of the returned [Operation] does the work and completes r. Connect has no effect that
// is visible from outside. *op must not be in flight. It may be the zero O, or an O whose operation has completed,
// also of another sender of the same type. From Connect until the completion, *op must stay where it is; it must be
// on the heap if its sender says so.
//
// The returned Operation lives in *op. Most adaptors return the Operation of their child and have no Start of their
// own, so that neither their states nor the names of their types grow.
//
// Source: D2006R1 §3 (connect and start as basis operations), where connect returns the state itself.
type Sender[T, O any] interface {
	Connect(op *O, r Receiver[T]) Operation
}

// Operation is work that has been connected. Start begins it. Start cannot fail: whatever goes wrong is a completion.
// Start is called at most once per Connect, unless the sender says that its operation may be started again without
// another Connect.
type Operation interface{ Start() }

// StateOf returns a new operation state for s, whose type the caller need not write:
//
//	op := sender.StateOf(s)
//	start := s.Connect(op, r)
//	start.Start()
//
// To start it again, keep what Connect returns: most operation states of this package have no Start. Those of package
// reactor have.
func StateOf[T, O any, S Sender[T, O]](S) *O { return new(O) }
