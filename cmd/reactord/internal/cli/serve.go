package cli

import (
	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// account returns the user and the group of the file. If the file cannot be read, Run reports why.
func (c serveCommand) account() (user, group string) {
	if c.Config == "-" { // which could not be read again
		return "", ""
	}
	file, err := loader.FromFile(c.Config)
	if err != nil {
		return "", ""
	}
	return file.Config().User, file.Config().Group
}

// Run runs the daemon with the configuration of the file.
func (c serveCommand) Run(inherited *daemon.Inherited) error {
	file, err := loader.FromFile(c.Config)
	if err != nil {
		return err
	}
	return daemon.Run(daemon.Config{Loader: file, Inherited: inherited})
}
