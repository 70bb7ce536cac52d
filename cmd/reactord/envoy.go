package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/bootstrap"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/stream"
)

// envoyCommand runs the daemon in the place of an Envoy. A program with the name "envoy" does so without a command.
type envoyCommand struct {
	Flags []string `arg:"" optional:"" help:"Flags of Envoy, such as --config-path FILE, --config-yaml TEXT, --service-node NAME, --service-cluster NAME, --log-level LEVEL, --drain-time-s SECONDS."`
}

// envoyName is the name of the program in whose place this one may be.
const envoyName = "envoy"

// asEnvoy is the command line with the command that is in the name of the program.
func asEnvoy(program string, args []string) []string {
	if filepath.Base(program) == envoyName {
		return append([]string{envoyName}, args...)
	}
	return args
}

// Run runs the daemon as the bootstrap says.
func (c envoyCommand) Run(kin *lineage) error {
	flags, err := bootstrap.ParseFlags(c.Flags)
	if err != nil {
		return fmt.Errorf("%w: %w", errFlags, err)
	}
	if flags.Version {
		_, err := fmt.Println(envoyVersion())
		return err
	}
	b, err := flags.Bootstrap()
	if err != nil {
		return err
	}
	cfg := envoyConfig(flags, b)
	if err := flagErrors(cfg.Validate()); err != nil {
		return err
	}
	conf := fromFlags(cfg)
	if conf.identity, err = identityOf(flags, b); err != nil {
		return err
	}
	if flags.Validate {
		_, err := fmt.Printf("configuration '%s' OK\n", flags.ConfigPath)
		return err
	}
	return run(conf, kin, nil)
}

// likeEnvoy is the version that programs see which start an Envoy of some versions only. Consul 1.22: 1.33 to 1.35.
const likeEnvoy = "1.35.8"

// envoyVersion is the version in Envoy's form.
func envoyVersion() string {
	b := proxymetrics.ReadBuild()
	return fmt.Sprintf("%s  version: %s/%s/reactord-%s/RELEASE/%s",
		envoyName, b.Revision, likeEnvoy, b.Version, runtime.Version())
}

// envoyConfig is the configuration that a bootstrap means. It has no listeners: the control plane sends them.
func envoyConfig(f *bootstrap.Flags, b *bootstrap.Bootstrap) *config.Config {
	cfg := config.New()
	cfg.Loops = f.Concurrency
	if f.LogLevel != "" {
		cfg.Log.Level = f.LogLevel
	}
	if f.Drain >= 0 {
		cfg.Drain.Timeout = f.Drain
	}
	cfg.Admin.Address = os.Getenv("REACTORD_ADMIN") // else there is no way to reach it by reactord ctl
	for i := range b.Servers {
		cfg.XDS.Servers = append(cfg.XDS.Servers, serverURL(&b.Servers[i]))
	}
	cfg.XDS.InitialFetchTimeout = b.InitialFetchTimeout
	cfg.XDS.Node.ID, cfg.XDS.Node.Cluster = b.Node.ID, b.Node.Cluster
	cfg.XDS.Node.Locality = config.XDSLocality{Region: b.Node.Region, Zone: b.Node.Zone, SubZone: b.Node.SubZone}
	return cfg
}

// serverURL is a server in the form of the configuration.
func serverURL(s *stream.Server) string {
	switch {
	case s.Network == "unix":
		if path, err := filepath.Abs(s.Address); err == nil && !strings.HasPrefix(s.Address, "@") {
			return "unix://" + path
		}
		return "unix:///" + s.Address
	case s.TLS != nil:
		return "https://" + s.Address
	}
	return "http://" + s.Address
}

// identityOf is what the bootstrap says of this process and of its control plane.
func identityOf(f *bootstrap.Flags, b *bootstrap.Bootstrap) (identity, error) {
	n := &corepb.Node{
		Id: b.Node.ID, Cluster: b.Node.Cluster, UserAgentName: "reactord",
		UserAgentVersionType: &corepb.Node_UserAgentVersion{UserAgentVersion: proxymetrics.ReadBuild().Version},
	}
	if b.Node.Region+b.Node.Zone+b.Node.SubZone != "" {
		n.Locality = &corepb.Locality{Region: b.Node.Region, Zone: b.Node.Zone, SubZone: b.Node.SubZone}
	}
	if b.Node.Metadata != nil {
		var err error
		if n.Metadata, err = corepb.NewStruct(b.Node.Metadata); err != nil {
			return identity{}, fmt.Errorf("bootstrap: node.metadata: %w", err)
		}
	}
	return identity{
		node: n, servers: b.Servers, flags: f, bootstrap: b,
		transport: func(c *stream.Config) {
			c.ConnectTimeout, c.PingInterval, c.PingTimeout = b.ConnectTimeout, b.PingInterval, b.PingTimeout
		},
	}, nil
}
