package cli

import (
	"fmt"
	"path/filepath"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy/bootstrap"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

// envoyCommand runs the daemon in place of an Envoy. A program with the name "envoy" does so without a command.
type envoyCommand struct {
	Flags []string `arg:"" optional:"" help:"Flags of Envoy, such as --config-path FILE, --config-yaml TEXT, --service-node NAME, --service-cluster NAME, --log-level LEVEL, --drain-time-s SECONDS."`
}

// asEnvoy returns the command line, with the command envoy if that is the name of the program.
func asEnvoy(program string, args []string) []string {
	if filepath.Base(program) == envoy.Name {
		return append([]string{envoy.Name}, args...)
	}
	return args
}

// Run runs the daemon with the configuration of the bootstrap.
func (c envoyCommand) Run(inherited *daemon.Inherited) error {
	flags, err := bootstrap.ParseFlags(c.Flags)
	if err != nil {
		return fmt.Errorf("%w: %w", errFlags, err)
	}
	if flags.Version {
		_, err := fmt.Println(envoy.Version())
		return err
	}
	b, err := flags.Bootstrap()
	if err != nil {
		return err
	}
	cfg := envoy.Config(flags, b)
	if err := flagErrors(cfg.Validate()); err != nil {
		return err
	}
	identity, err := envoy.NewIdentity(flags, b)
	if err != nil {
		return err
	}
	if flags.Validate {
		_, err := fmt.Printf("configuration '%s' OK\n", flags.ConfigPath)
		return err
	}
	return daemon.Run(daemon.Config{
		Loader: loader.FromConfig(cfg, flagErrors), Inherited: inherited, Identity: identity,
	})
}
