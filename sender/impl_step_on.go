//go:build reactordebug

package sender

// step marks a point of a protocol between threads where another thread may run. A test sets onStep, and runs the
// threads in every possible order of these points.
func step() {
	if onStep != nil {
		onStep()
	}
}

var onStep func()
