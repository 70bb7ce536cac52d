package main

import "github.com/reactord/reactord/cmd/reactord/internal/config"

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// Run runs the daemon as the file says.
func (c serveCommand) Run() error {
	cfg, source, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	return run(cfg, source.Errors, nil)
}
