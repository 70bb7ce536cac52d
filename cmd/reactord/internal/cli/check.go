package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

type checkCommand struct {
	Config string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
}

// Run prints that the file is ok, or returns all its errors. It accepts what serve accepts: it also looks up names and
// reads certificates. Run by root, it opens them as the user that serve becomes.
func (c checkCommand) Run() error {
	cfg, places, err := loader.ReadFile(c.Config)
	if err != nil {
		return err
	}
	if err := places.Errors(loader.Unreadable(cfg, places.Files())); err != nil {
		return err
	}
	if _, err := loader.Check(context.Background(), cfg, places.Errors, printWarning); err != nil {
		return err
	}
	included := len(places.Files())
	if c.Config != "-" {
		included--
	}
	more := ""
	if included > 0 {
		more = fmt.Sprintf(" (included files: %d)", included)
	}
	_, err = fmt.Printf("%s: ok%s\n", c.Config, more)
	return err
}

// printWarning prints a warning about the configuration.
func printWarning(text string) { fmt.Fprintln(os.Stderr, "warning: "+text) }
