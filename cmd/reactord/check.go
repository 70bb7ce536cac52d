package main

import (
	"context"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type checkCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"The file to check; - is standard input."`
}

// Run says that the file is good, or returns everything that is wrong with it. The verdict is that of serve: names are
// looked up as well.
func (c checkCommand) Run() error {
	cfg, source, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	if _, err := settle(context.Background(), cfg, source.Errors); err != nil {
		return err
	}
	_, err = fmt.Printf("%s: ok\n", c.Config)
	return err
}
