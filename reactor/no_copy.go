//go:build linux

package reactor

// noCopy makes go vet report copies of the structure that it is a field of (analysis copylocks). It takes no room.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
