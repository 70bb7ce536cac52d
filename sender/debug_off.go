//go:build !reactordebug

package sender

const debug = false

// step does nothing; see debug_on.go.
func step() {}
