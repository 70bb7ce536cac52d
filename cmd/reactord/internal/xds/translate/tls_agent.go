package translate

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// agents are servers of secrets beside a proxy, which are not the control plane: the name of Istio's.
var agents = []string{"sds-grpc"}

// foreign is the server of a source that is not the control plane; "": it is that. A source with a name of its own is
// asked for over the stream of all others.
func foreign(m *corepb.ConfigSource) string {
	for _, g := range m.GetApiConfigSource().GetGrpcServices() {
		if name := g.GetEnvoyGrpc().GetClusterName(); slices.Contains(agents, name) {
			return name
		}
	}
	return ""
}

// Istio's agent serves files by these names, and others that it makes itself.
const (
	agentRootName   = "file-root:"
	agentSystemName = "file-root:system"
	agentPairName   = "file-cert:"
	agentSeparator  = "~"
)

// agentRoot is the authorities of a file that the agent would serve; nil: that is no file.
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

// agentPair is a certificate of files, likewise.
func agentPair(m *tlspb.SdsSecretConfig) *pair {
	paths, isFile := strings.CutPrefix(m.GetName(), agentPairName)
	cert, key, both := strings.Cut(paths, agentSeparator)
	if foreign(m.GetSdsConfig()) == "" || !isFile || !both || cert == "" || key == "" {
		return nil
	}
	return &pair{cert: file{path: cert}, key: file{path: key}}
}
