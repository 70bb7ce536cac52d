package sender

import "github.com/reactord/reactord/sender/internal/aftergoexit"

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
// Connect prepares *op, so that to start what it returns does the work and completes r. It has no effect
// that can be seen from outside. *op must not be in flight; it may be the zero O, or one that has
// completed, also one of another sender of the same type. From Connect until the completion *op must
// stay where it is, and be on the heap if its sender says so.
//
// What Connect returns lives in *op. Most adaptors return what starts their child, and have no Start of
// their own: so neither their states nor their types grow by it.
//
// Source: D2006R1 §3 (connect and start as basis operations), where Connect returns the state itself.
type Sender[T, O any] interface {
	Connect(op *O, r Receiver[T]) Operation
}

// Operation is work that has been connected: Start begins it. It cannot fail; whatever goes wrong is a
// completion. It is called at most once per Connect, unless the sender says that its operation may be
// started again without connecting it anew.
type Operation interface{ Start() }

// startAll starts the children of an operation that ends when all of them have: after the last Start it
// is not touched any more.
func startAll(children []Operation) {
	// A function of the user's may end this frame by runtime.Goexit.
	returned := false
	defer aftergoexit.Run(&returned, func() { startAll(children) })
	for len(children) > 0 {
		child := children[0]
		children = children[1:]
		child.Start()
	}
	returned = true
}

// StateOf is a new operation state for s, of a type that need not be written:
//
//	op := sender.StateOf(s)
//	start := s.Connect(op, r)
//	start.Start()
//
// Keep what Connect returns to start it again: most operation states of this package have no Start of their
// own, as those of package reactor do.
func StateOf[T, O any, S Sender[T, O]](S) *O { return new(O) }
