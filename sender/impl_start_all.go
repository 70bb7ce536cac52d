package sender

import "github.com/reactord/reactord/sender/internal/aftergoexit"

// startAll starts the children of a [Group]. After the last Start it does not touch the operation, which may have
// completed. If a user's function ends this frame by runtime.Goexit, the remaining children are still started.
func startAll(children []Operation) {
	returned := false
	defer aftergoexit.Run(&returned, func() { startAll(children) })
	for len(children) > 0 {
		child := children[0]
		children = children[1:]
		child.Start()
	}
	returned = true
}
