package translate

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// agents are servers of secrets next to a proxy, other than the control plane. The name is Istio's.
var agents = []string{"sds-grpc"}

// foreign returns the server of a source other than the control plane, or "". A separately named source is requested
// over the common stream.
func foreign(m *corepb.ConfigSource) string {
	for _, g := range m.GetApiConfigSource().GetGrpcServices() {
		if name := g.GetEnvoyGrpc().GetClusterName(); slices.Contains(agents, name) {
			return name
		}
	}
	return ""
}

// Istio's agent serves files under these names, and others that it generates.
const (
	agentRootName   = "file-root:"
	agentSystemName = "file-root:system"
	agentPairName   = "file-cert:"
	agentSeparator  = "~"
)

// agentRoot returns the authorities in a file that the agent would serve, or nil if the name is not a file.
func agentRoot(m *tlspb.SdsSecretConfig) *validation {
	path, isFile := strings.CutPrefix(m.GetName(), agentRootName)
	switch {
	case foreign(m.GetSdsConfig()) == "" || !isFile || path == "":
		return nil
	case m.GetName() == agentSystemName:
		return &validation{system: true}
	}
	return &validation{ca: file{path: path}}
}

// agentPair returns a certificate in files likewise.
func agentPair(m *tlspb.SdsSecretConfig) *pair {
	paths, isFile := strings.CutPrefix(m.GetName(), agentPairName)
	cert, key, both := strings.Cut(paths, agentSeparator)
	if foreign(m.GetSdsConfig()) == "" || !isFile || !both || cert == "" || key == "" {
		return nil
	}
	return &pair{cert: file{path: cert}, key: file{path: key}}
}
