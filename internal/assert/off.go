//go:build !reactordebug

package assert

// Enabled is true in builds with the tag reactordebug. It is a constant, so that others contain nothing of
// what depends on it.
const Enabled = false
