package envoy

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy/bootstrap"
	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"

	"google.golang.org/protobuf/types/known/structpb"
)

// Name is the name of the program that this one can replace.
const Name = "envoy"

// likeEnvoy is the version that is reported to programs that start certain versions of Envoy only. Consul 1.22: 1.33 to
// 1.35.
const likeEnvoy = "1.35.8"

// Version returns the version of this program in Envoy's form.
func Version() string {
	b := build.Read()
	return fmt.Sprintf("%s  version: %s/%s/reactord-%s/RELEASE/%s",
		Name, b.Revision, likeEnvoy, b.Version, runtime.Version())
}

// Config returns the configuration that a bootstrap means. It has no listeners: the control plane sends them.
func Config(f *bootstrap.Flags, b *bootstrap.Bootstrap) *config.Config {
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

// serverURL returns the URL of a server for the configuration.
func serverURL(s *stream.Server) string {
	switch {
	case s.IsUnix():
		if path, err := filepath.Abs(s.Address); err == nil && !strings.HasPrefix(s.Address, "@") {
			return "unix://" + path
		}
		return "unix:///" + s.Address
	case s.TLS != nil:
		return "https://" + s.Address
	}
	return "http://" + s.Address
}

// Identity is what the command line and the bootstrap of an Envoy say of this process and of its control plane. The
// zero value belongs to a process that replaces no Envoy.
type Identity struct {
	Node      *corepb.Node
	Servers   []stream.Server
	Transport func(*stream.Config) // changes the settings of the transport; may be nil

	flags     *bootstrap.Flags
	bootstrap *bootstrap.Bootstrap
}

// NewIdentity returns the identity that flags and a bootstrap give.
func NewIdentity(f *bootstrap.Flags, b *bootstrap.Bootstrap) (*Identity, error) {
	n := &corepb.Node{
		Id: b.Node.ID, Cluster: b.Node.Cluster, UserAgentName: "reactord",
		UserAgentVersionType: &corepb.Node_UserAgentVersion{UserAgentVersion: build.Read().Version},
	}
	if b.Node.Region+b.Node.Zone+b.Node.SubZone != "" {
		n.Locality = &corepb.Locality{Region: b.Node.Region, Zone: b.Node.Zone, SubZone: b.Node.SubZone}
	}
	if b.Node.Metadata != nil {
		var err error
		if n.Metadata, err = structpb.NewStruct(b.Node.Metadata); err != nil {
			return nil, fmt.Errorf("bootstrap: node.metadata: %w", err)
		}
	}
	return &Identity{
		Node: n, Servers: b.Servers, flags: f, bootstrap: b,
		Transport: func(c *stream.Config) {
			c.ConnectTimeout, c.PingInterval, c.PingTimeout = b.ConnectTimeout, b.PingInterval, b.PingTimeout
		},
	}, nil
}

// OwnAddresses returns where the process answers as an Envoy of this bootstrap would.
func (i *Identity) OwnAddresses() (all []plan.OwnAddress) {
	if i.bootstrap == nil {
		return nil
	}
	add := func(name string, a bootstrap.Address) {
		if at, err := net.ResolveTCPAddr(a.Network, a.Address); err == nil { // not of a unix socket
			all = append(all, plan.OwnAddress{Name: name, At: at.AddrPort()})
		}
	}
	add("the admin API in Envoy's place", i.bootstrap.Admin)
	for _, l := range i.bootstrap.Listeners {
		add("listener "+l.Name+" of the bootstrap", l.Address)
	}
	return all
}
