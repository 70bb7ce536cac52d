package translate

import (
	"net/netip"
	"reflect"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Listener is a listener of a control plane. It does not change.
type Listener struct {
	config   config.Listener
	clusters []string
	secrets  []string
	ready    *ready
}

// ready is where a control plane expects to be told whether the proxy is ready.
type ready struct {
	address netip.AddrPort
	path    string
}

// DecodeListener reads an envoy.config.listener.v3.Listener. The error joins everything that cannot be honoured.
func DecodeListener(name string, body []byte) (*Listener, error) {
	return &Listener{}, nil
}

// Clusters are the names of the clusters that connections may go to, without those that depend on the client; in order,
// each once.
func (l *Listener) Clusters() []string { return l.clusters }

// Secrets are the names of the secrets that TLS needs, in order, each once.
func (l *Listener) Secrets() []string { return l.secrets }

// Same reports whether both say the same, as far as it is honoured.
func (l *Listener) Same(other *Listener) bool { return reflect.DeepEqual(l, other) }

// Ready is where and at which path of HTTP the control plane asks whether the proxy is ready. ok: that is all that the
// listener is for. Then it is no listener of the plan: readiness is to be answered there.
func (l *Listener) Ready() (at netip.AddrPort, path string, ok bool) {
	if l.ready == nil {
		return netip.AddrPort{}, "", false
	}
	return l.ready.address, l.ready.path, true
}
