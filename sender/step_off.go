//go:build !reactordebug

package sender

// step does nothing; see step_on.go.
func step() {}
