package cli

import (
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type configCommand struct {
	Config  string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
	Secrets bool   `help:"Print secrets, too: what checks and agents send, and the values of headers for a control plane."`
}

// Run prints every setting of the file as a configuration file, with the place that each value comes from.
func (c configCommand) Run() error {
	cfg, places, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if c.Secrets {
		return config.Print(os.Stdout, cfg, places.Origin)
	}
	return config.PrintRedacted(os.Stdout, cfg, places.Origin)
}
