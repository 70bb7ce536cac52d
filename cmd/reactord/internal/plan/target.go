package plan

// Target is what carries plans out. The planner calls it on one goroutine at a time, and ends each [Change] before it
// prepares the next one.
type Target interface {
	// Prepare makes everything that next needs and that may fail. The Target still does what the plan before says,
	// whatever Prepare returns. After an error, nothing is left of what was prepared. A Target that starts has d.Old
	// nil.
	Prepare(next *Plan, d Diff) (Change, error)
}

// Change is a prepared plan. Either Commit or Discard is called, once.
type Change interface {
	// Commit puts the plan in force. What is gone is retired: it ends later, by itself.
	Commit()
	// Discard gives back what was prepared.
	Discard()
}

// ListenerError is the error of a [Target] that cannot do what one listener says.
type ListenerError struct {
	Listener string // the name
	Err      error
}

// Error says what is wrong with which listener.
func (e *ListenerError) Error() string { return "listener " + e.Listener + ": " + e.Err.Error() }

// Unwrap is the reason.
func (e *ListenerError) Unwrap() error { return e.Err }
