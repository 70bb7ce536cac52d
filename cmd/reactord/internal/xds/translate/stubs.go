package translate

import (
	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// What is here moves to the files cluster*.go, endpoints*.go, secret*.go and tls*.go.

// Cluster is a cluster of a control plane. It does not change.
type Cluster struct{}

// DecodeCluster reads an envoy.config.cluster.v3.Cluster. The error joins everything that cannot be honoured.
func DecodeCluster(name string, body []byte) (*Cluster, error) { return &Cluster{}, nil }

// Endpoints is the name of the endpoints that the cluster needs; "": none.
func (c *Cluster) Endpoints() string { return "" }

// Secrets are the names of the secrets that TLS needs.
func (c *Cluster) Secrets() []string { return nil }

// Same reports whether both say the same, as far as it is honoured.
func (c *Cluster) Same(other *Cluster) bool { return false }

// hashes reports whether the cluster chooses servers by a hash: of what, the listeners say.
func (c *Cluster) hashes() bool { return false }

// build makes the backend of the cluster. The error says what is wrong between the cluster and its endpoints and
// secrets.
func (c *Cluster) build(s *Set, u use) (*backend, error) { return &backend{}, nil }

// backend is what a cluster becomes.
type backend struct {
	config  config.Backend // its name is that of the cluster
	servers []plan.Server
	keys    *certs.Client
}

// Endpoints are the servers of a cluster. They do not change.
type Endpoints struct{}

// DecodeEndpoints reads an envoy.config.endpoint.v3.ClusterLoadAssignment. The error joins everything that cannot be
// honoured.
func DecodeEndpoints(name string, body []byte) (*Endpoints, error) { return &Endpoints{}, nil }

// Same reports whether both say the same, as far as it is honoured.
func (e *Endpoints) Same(other *Endpoints) bool { return false }

// Secret is a certificate with its key, or authorities. It does not change.
type Secret struct{}

// DecodeSecret reads an envoy.extensions.transport_sockets.tls.v3.Secret. The error joins everything that cannot be
// honoured.
func DecodeSecret(name string, body []byte) (*Secret, error) { return &Secret{}, nil }

// Same reports whether both say the same, as far as it is honoured.
func (s *Secret) Same(other *Secret) bool { return false }

// serverTLS is what a DownstreamTlsContext says.
type serverTLS struct{}

// decodeServerTLS reads a DownstreamTlsContext, and refuses in r what cannot be honoured.
func decodeServerTLS(r reading, m *tlspb.DownstreamTlsContext) *serverTLS { return &serverTLS{} }

// Secrets are the names of the secrets that it needs.
func (t *serverTLS) Secrets() []string { return nil }

// clientAuth reports whether a client needs a certificate.
func (t *serverTLS) clientAuth() bool { return false }

// build makes the settings and what they hold. sans are names of clients in the form of [config.ServerTLS.ClientSANs],
// one of which a certificate must have beside one of the context's own; empty: every client will do.
func (t *serverTLS) build(s *Set, sans []string) (config.ServerTLS, *certs.Server, error) {
	return config.ServerTLS{}, nil, nil
}
