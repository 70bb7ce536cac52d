package plan

// Target carries plans out. The planner calls it on one goroutine at a time, and ends each [Change] before it prepares
// the next one.
type Target interface {
	// Prepare acquires everything that next needs and that may fail. The plan before stays in effect, whatever Prepare
	// returns. After an error, nothing that was prepared is left. In the first call, d.Old is nil.
	Prepare(next *Plan, d Diff) (Change, error)
}

// Change is a prepared plan. Either Commit or Discard is called, once.
type Change interface {
	// Commit puts the plan in force. What the plan removes is retired, and ends later by itself.
	Commit()
	// Discard releases what was prepared.
	Discard()
}

// ListenerError is the error of a [Target] that cannot carry out one listener.
type ListenerError struct {
	Listener string // the name
	Err      error
}

// Error returns the listener and what is wrong with it.
func (e *ListenerError) Error() string { return "listener " + e.Listener + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ListenerError) Unwrap() error { return e.Err }
