//go:build !reactordebug

package sender

// step does nothing in this build. See impl_step_on.go.
func step() {}
