//go:build !reactordebug

package assert

// Enabled is true in builds with the tag reactordebug. It is a constant, so that other builds contain no
// code that depends on it.
const Enabled = false
