package cli

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/host/pid1"
)

// initCommand is process 1 of a container that upgrades.
type initCommand struct {
	Command []string `arg:"" help:"Command of reactord with its flags, such as serve --config FILE."`
}

// Run runs the command in another process, and exits with the status of the one that replaces all others.
func (c initCommand) Run() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	status, err := pid1.Run(append([]string{path}, c.Command...))
	if err == nil {
		os.Exit(status)
	}
	return err
}
