package main

import "github.com/reactord/reactord/cmd/reactord/internal/config"

type serveCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"The configuration; - is standard input."`
}

// Run is the daemon as the file has it.
func (c serveCommand) Run() error {
	cfg, source, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	return run(cfg, source.Errors, nil)
}
