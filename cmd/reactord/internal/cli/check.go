package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

type checkCommand struct {
	Config     string `required:"" short:"c" placeholder:"FILE" help:"Configuration file; -: standard input."`
	Production bool   `help:"Also list what the configuration lacks in production, in the order of danger."`
	JSON       bool   `name:"json" help:"Print JSON; with --production."`
}

// errProduction reports a configuration that is valid, and not ready for production.
var errProduction = errors.New("the configuration is not ready for production")

// Run prints that the file is ok, or returns all its errors. It accepts what serve accepts: it also looks up names and
// reads certificates. Run by root, it opens them as the user that serve becomes.
func (c checkCommand) Run() error {
	if c.JSON && !c.Production {
		return fmt.Errorf("%w: --json requires --production", errFlags)
	}
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
	if c.Production {
		return c.production(os.Stdout, cfg.Production(), places)
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

// production prints what the configuration lacks in production. That is an error.
func (c checkCommand) production(w io.Writer, findings []config.Finding, places *config.Places) error {
	type finding struct {
		Setting string `json:"setting"`
		Place   string `json:"place"`
		Text    string `json:"text"`
	}
	all := make([]finding, len(findings))
	for i, f := range findings {
		all[i] = finding{f.Path, places.Place(f.Path), f.Text}
	}
	var err error
	switch {
	case c.JSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(all)
	case len(all) == 0:
		_, err = fmt.Fprintf(w, "%s: ready for production\n", c.Config)
	}
	for _, f := range all {
		if err == nil && !c.JSON {
			_, err = fmt.Fprintf(w, "%s: %s: %s\n", f.Place, f.Setting, f.Text)
		}
	}
	if err == nil && len(all) > 0 {
		return fmt.Errorf("%w: findings: %d", errProduction, len(all))
	}
	return err
}

// printWarning prints a warning about the configuration.
func printWarning(text string) { fmt.Fprintln(os.Stderr, "warning: "+text) }
