package cli

import (
	"fmt"
	"runtime"

	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
)

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	_, err := fmt.Println("reactord " + version())
	return err
}

// version returns the version of this program, the Go release that built it, and its platform.
func version() string {
	b := build.Read()
	return fmt.Sprintf("%s, revision %s, %s, %s/%s",
		b.Version, b.Revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
