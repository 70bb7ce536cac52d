//go:build reactordebug

package sender

// step is called between the steps of a protocol of several threads, where another thread may come
// in between. A test takes it over to play every order of them.
func step() {
	if onStep != nil {
		onStep()
	}
}

var onStep func()
