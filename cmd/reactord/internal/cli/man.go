package cli

import (
	"bufio"
	"os"
	"runtime/debug"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/cli/completion"
	"github.com/reactord/reactord/cmd/reactord/internal/cli/manual"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
)

type manCommand struct {
	Page string `arg:"" optional:"" enum:"reactord.1,reactord.yaml.5" default:"reactord.1" help:"The page: reactord.1 (default), or reactord.yaml.5 on the configuration file."`
}

// Run prints a manual page.
func (m manCommand) Run() error {
	w := bufio.NewWriter(os.Stdout)
	edition := manual.Edition{Version: build.Read().Version, Date: commitTime()}
	var err error
	if m.Page == "reactord.1" {
		err = manual.Commands(w, newParser().Model, edition)
	} else {
		err = manual.Settings(w, edition)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// commitTime returns the commit time of this program's revision, or the zero time if it is unknown.
func commitTime() (at time.Time) {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return at
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			at, _ = time.Parse(time.RFC3339, s.Value) // zero if it is something else
		}
	}
	return at
}

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints the script.
func (c completionCommand) Run() error {
	return completion.Write(os.Stdout, c.Shell, newParser().Model, completion.Values{
		"ring": config.Rings, "log-level": config.LogLevels, "log-format": config.LogFormats,
	})
}
