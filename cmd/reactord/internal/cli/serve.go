package cli

import (
	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// account is what the file says of it. A file that cannot be read has none: Run says why.
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

// Run runs the daemon as the file says.
func (c serveCommand) Run(inherited *daemon.Inherited) error {
	file, err := loader.FromFile(c.Config)
	if err != nil {
		return err
	}
	return daemon.Run(daemon.Config{Loader: file, Inherited: inherited})
}
