package main

import (
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type checkCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"The file to check; - is standard input."`
}

// Run says that the file is good, or returns everything that is wrong with it.
func (c checkCommand) Run() error {
	if _, err := config.Load(c.Config); err != nil {
		return err
	}
	_, err := fmt.Printf("%s: ok\n", c.Config)
	return err
}
